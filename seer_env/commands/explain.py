"""`seer-env stpa explain`: which threads a world gets, from which candidates, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError, check_writable, print_table, write_json
from seer_env.commands.world import World, make_world

if TYPE_CHECKING:
    from seer_env.stpa.report import StpaReport


@dataclass
class Explain(World):
    """Reset a world, run some steps, and show how its threads were chosen: a table, and a picture.

    What was chosen for the same configuration earlier is remembered, and only confirmed; `--anew`
    measures everything again.
    """

    steps: int = 200
    """Steps to run behind the reset, on which the choice is refined and watched."""

    seed: int = 0
    """Seed of the world and of the random actions."""

    anew: bool = False
    """Forget what was chosen earlier."""

    preflight_ms: float = 200.0
    """Wall milliseconds that choosing may take on the reset; 0 leaves it to the steps."""

    picture: Annotated[Path | None, tyro.conf.arg(metavar="FILE.png", help_behavior_hint="")] = None
    """Draw milliseconds per step over threads into this file."""

    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write what the tables show here too."""

    def main(self) -> int:
        """Run, print, draw."""
        if self.steps < 0:
            raise CommandError(f"--steps {self.steps}: at least 0")
        for file in (self.picture, self.json_file):
            check_writable(file)
        if self.picture is not None and self.picture.suffix.lower() != ".png":
            raise CommandError(f"{self.picture}: a picture is a .png file")
        from seer_env.stpa.report import COLUMNS

        report = self._run()
        print_table(f"threads of {self.env}", ("", ""), report.facts())
        if report.rows():
            print_table("candidates", COLUMNS, report.rows())
        write_json(self.json_file, report.figures())
        if self.picture is not None:
            report.plot().savefig(self.picture, format="png", dpi=120)
            print(f"picture: {self.picture.absolute()}")
        return 0

    def _run(self) -> StpaReport:
        env = make_world(self, preflight_ms=self.preflight_ms)
        if self.anew:
            env.forget_threads()
        policy = env.policies["random"]
        env.reset_arrays(self.seed)
        for _ in range(self.steps):
            if not env.agents:
                env.reset_arrays()
            env.step_arrays(policy(env))
        report = env.stpa_report
        env.close()
        return report
