"""`seer-env play` in a PettingZoo env: its steps under a policy, filmed with the env's own pictures."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seer_env.commands.output import CommandError, check_writable, print_table
from seer_env.commands.run import INTERRUPTED
from seer_env.commands.video import Video, check_video

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from seer_env.training.parallel import ParallelEpisode

FRAMES_PER_SECOND = 10
"""Where the env's metadata have no `render_fps`."""


@dataclass
class Watch:
    """Steps to run, the first episode's seed, and the files to draw into; see `play.Play`."""

    steps: int
    seed: int
    picture: Path | None
    video: Path | None
    video_every: int

    def _check(self) -> None:
        """Refuse files that could not be written, before any work is done.

        Raises:
            CommandError: a file or a number is not possible.
        """
        if self.steps < 1 or self.video_every < 1:
            raise CommandError(f"--steps {self.steps} --video-every {self.video_every}: at least 1 each")
        check_writable(self.picture)
        if self.picture is not None and self.picture.suffix.lower() != ".png":
            raise CommandError(f"{self.picture}: a picture is a .png file")
        check_video(self.video)

    def run(self, env: ParallelEpisode, policy: Callable[[Any], np.ndarray]) -> int:
        """Run, report, and draw; 130 after Ctrl-C."""
        self._check()
        fps = env.env.metadata.get("render_fps", FRAMES_PER_SECOND)
        sums = {"steps": 0, "episodes": 0, "decisions": 0, "rewards": 0.0}
        with Video(self.video, fps) if self.video else nullcontext() as video:
            interrupted = self._act(env, policy, sums, video)
        print_table(
            str(env.env),
            ("", "figure"),
            (
                ("agents", str(len(env.possible_agents))),
                ("steps", f"{sums['steps']:,} of {self.steps:,}, {sums['episodes']} episode(s)"),
                ("reward of a decision", f"{sums['rewards'] / max(sums['decisions'], 1):.4g}"),
            ),
        )
        if video is not None and video.frames:
            print(f"video: {video.path.absolute()} ({video.frames} frames, {video.fps} per second)")
        if self.picture is not None and sums["episodes"]:
            save(picture(env), self.picture)
        env.close()
        return INTERRUPTED if interrupted else 0

    def _act(
        self,
        env: ParallelEpisode,
        policy: Callable[[Any], np.ndarray],
        sums: dict[str, Any],
        video: Video | None,
    ) -> bool:
        """Run the steps into `sums` and `video`; True if Ctrl-C cut them short."""
        from rich.console import Console
        from rich.progress import track

        try:
            for step in track(
                range(1, self.steps + 1), "steps", console=Console(stderr=True), transient=True
            ):
                if not env.agents:
                    env.reset_arrays(self.seed + sums["episodes"])
                    sums["episodes"] += 1
                sums["decisions"] += len(env.agents)
                sums["rewards"] += float(env.step_arrays(policy(env)).rewards.sum())
                sums["steps"] = step
                if video is not None and step % self.video_every == 0:
                    video.add(picture(env))
        except KeyboardInterrupt:
            return True
        return False


def picture(env: ParallelEpisode) -> np.ndarray:
    """The env's own picture, uint8 `[H, W, 3]`.

    Raises:
        CommandError: it draws none.
    """
    import numpy as np

    try:
        frame = env.env.render()
    except NotImplementedError as error:
        raise CommandError(f"{env.env}: draws no pictures, it has no render()") from error
    if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.dtype != np.uint8:
        shape = f"{frame.dtype} {frame.shape}" if isinstance(frame, np.ndarray) else repr(frame)
        raise CommandError(f"{env.env}: render() with render_mode rgb_array gave {shape}, no uint8 [H, W, 3]")
    return frame[:, :, :3]


def save(frame: np.ndarray, path: Path) -> None:
    """Write a picture as a PNG file."""
    from PIL import Image

    Image.fromarray(frame).save(path, format="PNG")
    print(f"picture: {path.absolute()}")
