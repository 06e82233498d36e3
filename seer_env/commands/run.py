"""`seer-env run`: step a world under a policy, and report how fast and where the time went."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from seer_env.commands.output import CommandError, check_writable, print_table, write_json
from seer_env.commands.tally import Tally
from seer_env.commands.video import Video, check_video
from seer_env.commands.world import World, make_world

if TYPE_CHECKING:
    import numpy as np

    from seer_env.env import SeerParallelEnv
    from seer_env.episode import Policy

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


@dataclass
class Run(World):
    """Step a world under a policy, then print a table of speed and of where a step's time goes.

    Episodes that end are begun anew until the steps are done. Ctrl-C stops after at most a second once
    compiled, and while it compiles, when that is done; it reports what ran. Compilation happens before the
    clock starts.
    """

    steps: int = 300
    """Steps to run."""

    policy: Annotated[str, tyro.conf.arg(metavar="NAME")] = "random"
    """Who chooses the actions: random, or a policy of the world (aircraft_v0: goal, mvp;
    battle_v0: rush; pcs_v0: fixed, guard, threshold)."""

    seed: int = 0
    """Seed of the world and of the random policy. The same seed gives the same bytes."""

    arrays: bool = False
    """Step with `step_arrays`, as training does, instead of PettingZoo's dicts."""

    check: bool = False
    """Run every step under two schedulers and stop at the first difference."""

    picture: Annotated[Path | None, tyro.conf.arg(metavar="FILE.png", help_behavior_hint="")] = None
    """Draw the world into this file, after the last step or at `--picture-step`."""

    picture_step: Annotated[int | None, tyro.conf.arg(metavar="K", help_behavior_hint="")] = None
    """Draw the picture after this many steps instead of after the last."""

    video: Annotated[Path | None, tyro.conf.arg(metavar="FILE.gif|mp4", help_behavior_hint="")] = None
    """Film the run into this file, a frame per step. MP4 needs `pip install "seer-env[video]"`. Ctrl-C leaves
    a film of what ran."""

    video_every: Annotated[int, tyro.conf.arg(metavar="K")] = 1
    """Film every K-th step."""

    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write the figures of the table here too."""

    def main(self) -> int:
        """Run, report, and draw; 130 after Ctrl-C."""
        return self.run(lambda env: find_policy(env, self.policy))

    def run(self, choose: Callable[[SeerParallelEnv], Policy]) -> int:
        """`main`, under the policy that `choose` finds for the world."""
        if self.steps < 1:
            raise CommandError(f"--steps {self.steps}: at least 1")
        if self.picture_step is not None and not 1 <= self.picture_step <= self.steps:
            raise CommandError(f"--picture-step {self.picture_step}: from 1 to --steps {self.steps}")
        if self.video_every < 1:
            raise CommandError(f"--video-every {self.video_every}: at least 1")
        for file in (self.picture, self.json_file):
            check_writable(file)
        if self.picture is not None and self.picture.suffix.lower() != ".png":
            raise CommandError(f"{self.picture}: a picture is a .png file")
        check_video(self.video)
        env = make_world(self, **self._extra_options())
        policy = choose(env)
        tally = Tally()
        with Video(self.video, env.metadata["render_fps"]) if self.video else nullcontext() as video:
            interrupted = _fly(self, env, policy, tally, video)
        report(self, env, tally, interrupted)
        if video is not None and video.frames:
            print(f"video: {video.path.absolute()} ({video.frames} frames, {video.fps} per second)")
        if self.picture is not None:
            # Cut short before the step of the picture, the last boundary is what there is to see.
            if tally.episodes and (self.picture_step is None or tally.steps < self.picture_step):
                save_picture(env, self.picture)
            if self.picture.exists():
                print(f"picture: {self.picture.absolute()}")
        env.close()
        return INTERRUPTED if interrupted else 0

    def _extra_options(self) -> dict[str, Any]:
        return {
            **({"render_mode": "rgb_array"} if self.picture or self.video else {}),
            **({"check": True} if self.check else {}),
        }


def find_policy(env: SeerParallelEnv, name: str) -> Policy:
    """The policy `name` of a world.

    Raises:
        CommandError: the world has no such policy.
    """
    if name not in env.policies:
        raise CommandError(f"--policy {name}: this world has {', '.join(sorted(env.policies))}")
    return env.policies[name]


def _fly(args: Run, env: SeerParallelEnv, policy: Policy, tally: Tally, video: Video | None) -> bool:
    """Run the steps into `tally` and `video` under a progress bar; True if Ctrl-C cut them short."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=5) as progress:
        bar = progress.add_task(f"compiling {args.env}", total=args.steps)
        try:
            env.warmup()
            progress.reset(bar, description=args.env)
            for _ in range(args.steps):
                if not env.agents:
                    _begin(args, env, tally)
                _step(args, env, policy, tally)
                if args.picture is not None and tally.steps == args.picture_step:
                    save_picture(env, args.picture)
                if video is not None and tally.steps % args.video_every == 0:
                    video.add(drawn(env))
                progress.advance(bar)
        except KeyboardInterrupt:
            return True
    return False


def _begin(args: Run, env: SeerParallelEnv, tally: Tally) -> None:
    """Begin an episode: the first from the seed, later ones from where its generator stands."""
    reset = env.reset_arrays if args.arrays else env.reset
    reset(seed=None if tally.episodes else args.seed)
    tally.episodes += 1


def _step(args: Run, env: SeerParallelEnv, policy: Policy, tally: Tally) -> None:
    """Choose actions and step; the times of both go to `tally`."""
    live = len(env.agents)
    start = time.perf_counter()
    actions = policy(env)
    by_agent = {} if args.arrays else action_dict(env, actions)
    chosen = time.perf_counter()
    if args.arrays:
        env.step_arrays(actions)
    else:
        env.step(by_agent)
    stepped = time.perf_counter()
    tally.add(live, chosen - start, stepped - chosen, env.last_step_stats)


def action_dict(env: SeerParallelEnv, actions: np.ndarray) -> dict[str, Any]:
    """The live agents' rows of `actions` `[M, A]` as each agent's space has them."""
    from gymnasium.spaces import Discrete

    live = set(env.agents)
    rows = {agent: row for agent, row in zip(env.possible_agents, actions) if agent in live}
    if isinstance(env.action_space(env.possible_agents[0]), Discrete):
        return {agent: int(row[0]) for agent, row in rows.items()}
    return rows


def report(args: Run, env: SeerParallelEnv, tally: Tally, interrupted: bool) -> None:
    """Print the table and write the JSON file."""
    digest = env.digest() if tally.episodes else ""
    note = f", interrupted after {tally.steps} of {args.steps} steps" if interrupted else ""
    setup = (
        ("agents", f"{len(env.possible_agents):,}"),
        ("scheduler", env.scheduler),
        ("threads", str(env.threads)),
        ("policy", args.policy),
    )
    closing = (("digest of the last boundary", digest),)
    print_table(f"{args.env}{note}", ("", "figure"), (*setup, *tally.rows(), *closing))
    figures = {
        "env": args.env, "agents": len(env.possible_agents), "scheduler": env.scheduler,
        "threads": env.threads, "policy": args.policy, "seed": args.seed, "arrays": args.arrays,
        "interrupted": interrupted, "digest": digest, **tally.figures(),
    }  # fmt: skip
    write_json(args.json_file, figures)


def save_picture(env: SeerParallelEnv, path: Path) -> None:
    """Draw the current boundary as a PNG file."""
    from PIL import Image

    Image.fromarray(drawn(env)).save(path, format="PNG")


def drawn(env: SeerParallelEnv) -> np.ndarray:
    """The current boundary as a picture, uint8 `[H, W, 3]`."""
    frame = env.render()
    assert frame is not None, "an rgb_array env renders arrays"
    return frame
