"""`seer-env curves`: training curves of several runs in one picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from seer_env.commands.evaluate import TRAINED
from seer_env.commands.output import CommandError, check_writable, print_table
from seer_env.commands.train import require_training
from seer_env.commands.trained import check_count

if TYPE_CHECKING:
    from seer_env.training.curves import Baseline

#: What `seer-env evaluate --json` calls the figures of progress.csv.
EVALUATED = {"reward": "reward", "episodic_return": "return"}


@dataclass
class Curves:
    """Draw how runs learned: `seer-env curves runs/pcs-1 runs/pcs-2 runs/pcs-3 --output pcs.png`.

    Runs that differ in their seed alone are one curve: their mean, in a band from the lowest to the highest.
    Other runs get a curve of their own, named by the settings that differ. A comparison is two sets of runs:

        seer-env train --config a.yaml --seed 1 --run runs/a-1    (and seeds 2 and 3)
        seer-env train --config b.yaml --seed 1 --run runs/b-1    (and seeds 2 and 3)
        seer-env evaluate runs/a-1 --json a.json                  (what the baselines earn)
        seer-env curves runs/a-* runs/b-* --evaluation a.json --output learning.png
    """

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN ...", help_behavior_hint="")
    ]
    """Folders of runs."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE.png", help_behavior_hint="(default: curves.png)")] = (
        Path("curves.png")
    )
    """The picture."""

    figure: str = "reward"
    """What to draw, a column of progress.csv: reward (mean over decisions, neighbours' aside),
    episodic_return, SPS (decisions per second), entropy, ..."""

    against: Literal["decisions", "minutes", "updates"] = "decisions"
    """What to draw it against: decisions of agents, minutes of training, or updates."""

    smooth: Annotated[int, tyro.conf.arg(metavar="K")] = 1
    """Let each point be the mean of the last K updates."""

    baseline: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE ...", help_behavior_hint="")] = ()
    """Horizontal lines, such as random=-1.5."""

    evaluation: Annotated[Path | None, tyro.conf.arg(metavar="FILE.json", help_behavior_hint="")] = None
    """Horizontal lines of the baselines that `seer-env evaluate --json` wrote, with their intervals."""

    title: str = ""
    """Above the picture."""

    def main(self) -> int:
        """Draw, and print where each curve ends."""
        require_training()
        check_count("--smooth", self.smooth)
        if not self.runs:
            raise CommandError("curves: name at least one run")
        if self.output.suffix.lower() != ".png":
            raise CommandError(f"{self.output}: a picture is a .png file")
        check_writable(self.output)
        from seer_env.training.curves import draw, read_curves

        baselines = [*map(parsed, self.baseline), *self._evaluated()]
        curves = read_curves(self.runs, self.figure, self.against, self.smooth)
        smoothed = f", mean of {self.smooth} updates" if self.smooth > 1 else ""
        picture = draw(curves, baselines, self.title, (self.against, f"{self.figure}{smoothed}"))
        picture.savefig(self.output, format="png", dpi=150)
        rows = [
            (c.label or TRAINED, str(c.seeds), *(f"{y[-1]:.4g}" for y in (c.mean, c.low, c.high)))
            for c in curves
        ]
        print_table(f"{self.figure} at the end", ("curve", "seeds", "mean", "lowest", "highest"), rows)
        print(f"picture: {self.output.absolute()}")
        return 0

    def _evaluated(self) -> list[Baseline]:
        """The baselines in the file that `evaluate` wrote."""
        if self.evaluation is None:
            return []
        from seer_env.training.curves import Baseline

        measure = EVALUATED.get(self.figure.rpartition("/")[2])
        if measure is None:
            raise CommandError(
                f"--evaluation has {', '.join(EVALUATED)} of the baselines, but no {self.figure}"
            )
        try:
            policies: dict[str, Any] = json.loads(self.evaluation.read_text(encoding="utf-8"))["policies"]
            lines = [Baseline(name, *found[measure]) for name, found in policies.items() if name != TRAINED]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CommandError(
                f"{self.evaluation}: not what `seer-env evaluate --json` writes, of a world without sides: "
                f"{error!r}"
            ) from error
        return lines


def parsed(text: str) -> Baseline:
    """A baseline from `NAME=VALUE`.

    Raises:
        CommandError: it is none.
    """
    from seer_env.training.curves import Baseline

    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError as error:
        raise CommandError(f"--baseline {text!r}: expected NAME=VALUE, such as random=-1.5") from error
    if not name:
        raise CommandError(f"--baseline {text!r}: expected NAME=VALUE, such as random=-1.5")
    return Baseline(name, number, number, number)
