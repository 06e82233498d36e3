"""Videos of a run, written a frame at a time, so that a run cut short leaves one that plays."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seer_env.commands.output import CommandError, check_writable

if TYPE_CHECKING:
    import numpy as np

#: Takes frames, uint8 `[H, W, 3]`, by `send`; `close` completes the file.
Writer = Generator[None, "np.ndarray", None]


class Video:
    """A GIF or MP4 file, by its ending; complete when its `with` block ends, however it ends.

    Ctrl-C waits for the frame that is being written. Without a frame, no file is made or changed.

    Args:
        path: the file.
        fps: frames per second.

    Attributes:
        frames: how many the file has.

    Raises:
        CommandError: the ending is unknown, what writes it is not installed, or there is no such folder; at
            the end of the `with` block, the file could not be completed.
    """

    def __init__(self, path: Path, fps: float):
        check_video(path)
        self.path, self.fps, self.frames = path, fps, 0
        self._write = _gif if path.suffix.lower() == ".gif" else _mp4
        self._writer: Writer | None = None
        self._shape: tuple[int, ...] = ()

    def add(self, frame: np.ndarray) -> None:
        """Append a frame, uint8 `[H, W, 3]`, of the first one's size.

        Raises:
            CommandError: the file cannot be written further, or the frame has another size.
        """
        with _interrupt_later(), self._os_errors_told():
            if self._writer is None:
                self._writer, self._shape = self._write(self.path, self.fps), frame.shape
                next(self._writer)
            if frame.shape != self._shape:
                raise CommandError(
                    f"{self.path}: frame {self.frames + 1} has shape {frame.shape}, the first {self._shape}: "
                    "the world's render_frame must keep to one size"
                )
            self._writer.send(frame)
            self.frames += 1

    def __enter__(self) -> Video:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._writer is not None:
            with _interrupt_later(), self._os_errors_told():
                self._writer.close()

    @contextmanager
    def _os_errors_told(self) -> Iterator[None]:
        """A full disk is the user's matter, and no traceback."""
        try:
            yield
        except OSError as error:
            raise CommandError(f"{self.path}: {error}") from error


def check_video(path: Path | None) -> None:
    """Refuse a video that could not be written, before any work is done.

    Raises:
        CommandError: as `Video`.
    """
    if path is None:
        return
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise CommandError(f"{path}: a video is a .gif or a .mp4 file")
    check_writable(path)
    if path.suffix.lower() == ".mp4":
        _require_ffmpeg(path)


def _gif(path: Path, fps: float) -> Writer:
    """Pillow's own `save` of many frames would keep all of them in memory until the end."""
    from PIL import GifImagePlugin, Image

    frame = yield
    with path.open("wb") as file:
        image = Image.fromarray(frame).quantize()
        file.writelines(GifImagePlugin.getheader(image, info={"loop": 0})[0])
        try:
            while True:
                file.writelines(GifImagePlugin.getdata(image, duration=1000 / fps, include_color_table=True))
                frame = yield
                image = Image.fromarray(frame).quantize()
        finally:
            file.write(b";")  # the format's trailer


def _mp4(path: Path, fps: float) -> Writer:
    import imageio_ffmpeg
    import numpy as np

    frame = yield
    height, width = frame.shape[:2]
    odd = ((0, height % 2), (0, width % 2), (0, 0))  # H.264 in 4:2:0 has even sizes
    size = width + width % 2, height + height % 2
    encoder = imageio_ffmpeg.write_frames(str(path), size, fps=fps, macro_block_size=2)
    encoder.send(None)
    try:
        while True:
            encoder.send(np.ascontiguousarray(np.pad(frame, odd, mode="edge")))
            frame = yield
    finally:
        encoder.close()


def _require_ffmpeg(path: Path) -> None:
    remedy = f'{path}: MP4 needs an encoder, pip install "seer-env[video]"; or name a .gif file'
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise CommandError(remedy) from error
    try:
        imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:  # installed without its binary, and the system has none
        raise CommandError(f"{remedy} ({error})") from error


@contextmanager
def _interrupt_later() -> Iterator[None]:
    """Ctrl-C inside the block arrives at its end. Other threads than the main one get none anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupted:
            signal.raise_signal(signal.SIGINT)
