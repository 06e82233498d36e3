"""`seer-env run --video`: what the file shows, what is refused at once, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image, ImageSequence
from worlds import Lamps

from seer_env.cli import main
from seer_env.commands import run as run_module
from seer_env.commands.output import CommandError
from seer_env.commands.video import Video
from seer_env.env import make


def frame(red, height=8, width=12):
    return np.full((height, width, 3), (red, 10, 200), np.uint8)


def frames_of(path):
    """Frames of a GIF, uint8 `[F, H, W, 3]`."""
    with Image.open(path) as film:
        return np.stack([np.asarray(image.convert("RGB")) for image in ImageSequence.Iterator(film)])


def test_a_gif_has_the_frames_in_order_and_lasts_as_long_as_they_do(tmp_path):
    with Video(tmp_path / "film.gif", fps=5) as video:
        for red in (0, 120, 240):
            video.add(frame(red))
    assert video.frames == 3
    assert (frames_of(video.path) == np.stack([frame(red) for red in (0, 120, 240)])).all()
    with Image.open(video.path) as film:
        assert film.info["duration"] == 200  # ms
        assert film.info["loop"] == 0  # for ever


@pytest.mark.parametrize("size", [(8, 12), (9, 13)], ids=["even", "odd"])
def test_an_mp4_has_as_many_frames_as_were_added(tmp_path, size):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    with Video(tmp_path / "film.mp4", fps=10) as video:
        for red in range(0, 200, 10):
            video.add(frame(red, *size))
    assert ffmpeg.count_frames_and_secs(str(video.path)) == (20, 2.0)


def test_what_was_added_before_an_error_can_be_seen(tmp_path):
    video = Video(tmp_path / "film.gif", fps=5)
    with suppress(ZeroDivisionError), video:
        video.add(frame(50))
        raise ZeroDivisionError
    assert (frames_of(video.path) == frame(50)).all()


def test_a_video_without_a_frame_leaves_the_old_file(tmp_path):
    file = tmp_path / "film.gif"
    file.write_bytes(b"old")
    with Video(file, fps=5):
        pass
    assert file.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_told_without_a_traceback(tmp_path):
    file = tmp_path / "film.gif"
    file.symlink_to("/dev/full")
    with pytest.raises(CommandError, match=r"film\.gif.*No space left"), Video(file, fps=5) as video:
        video.add(frame(50))


def test_a_frame_of_another_size_is_refused(tmp_path):
    with Video(tmp_path / "film.gif", fps=5) as video:
        video.add(frame(50))
        with pytest.raises(CommandError, match=r"frame 2 has shape \(9, 12, 3\), the first \(8, 12, 3\)"):
            video.add(frame(50, height=9))
    assert frames_of(video.path).shape == (1, 8, 12, 3)


class Interrupting(np.ndarray):
    """A frame during whose writing Ctrl-C is pressed."""

    @property
    def __array_interface__(self):
        signal.raise_signal(signal.SIGINT)
        return self.view(np.ndarray).__array_interface__


def test_an_interrupt_waits_for_the_frame_that_is_being_written(tmp_path):
    with pytest.raises(KeyboardInterrupt), Video(tmp_path / "film.gif", fps=5) as video:
        video.add(frame(50).view(Interrupting))
    assert (frames_of(video.path) == frame(50)).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- refused before the run ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("film.avi", r"\.gif or a \.mp4"),
        ("film", r"\.gif or a \.mp4"),
        ("missing/film.gif", "there is no folder"),
        ("film.mp4", r'pip install "seer-env\[video\]"'),
    ],
)
def test_a_video_that_could_not_be_written_is_refused_at_once(tmp_path, monkeypatch, name, message):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)  # not installed
    with pytest.raises(CommandError, match=message):
        Video(tmp_path / name, fps=5)


def test_it_is_refused_before_the_world_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_module, "make_world", lambda args, **more: pytest.fail("a world was made"))
    assert main(["run", "aircraft_v0", "--video", str(tmp_path / "film.avi")]) == 1
    assert ".gif or a .mp4" in capsys.readouterr().err


def test_every_zeroth_step_is_refused(tmp_path, capsys):
    assert main(["run", "aircraft_v0", "--video", str(tmp_path / "x.gif"), "--video-every", "0"]) == 1
    assert "--video-every 0: at least 1" in capsys.readouterr().err


def test_a_world_that_draws_nothing_is_refused(tmp_path, capsys):
    assert main(["run", "flock_v0", "--video", str(tmp_path / "x.gif")]) == 1
    assert "render_mode" in capsys.readouterr().err


# -- of a run -------------------------------------------------------------------------------------------


@pytest.fixture
def lamps(monkeypatch):
    """`seer-env run` with `Lamps`, whose steps light all lamps at level 1, 2, 3, 4, 0, ..."""
    env = make(Lamps(), scheduler="python", render_mode="rgb_array")
    env.model.policies = {"rising": lambda env: np.full((5, 1), (env.entities["age"][0] + 1) % 5)}
    monkeypatch.setattr(run_module, "make_world", lambda args, **more: env)
    return env


def test_a_run_is_filmed_every_kth_step(lamps, tmp_path, capsys):
    file = tmp_path / "film.gif"
    main(["run", "lamps", "--policy", "rising", "--steps", "7", "--video", str(file), "--video-every", "2"])
    assert frames_of(file)[:, 0, 0, 0].tolist() == [80, 160, 40]  # 40 per level; after steps 2, 4, 6
    assert f"video: {file} (3 frames, 10 per second)" in capsys.readouterr().out.replace("\n", "")


def test_ctrl_c_leaves_a_film_of_what_ran(tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / "film.mp4"
    options = ["--agents", "5", "--scheduler", "python", "--steps", "1000000", "--video", str(file)]
    run = subprocess.Popen(
        [sys.executable, "-m", "seer_env.cli", "run", "aircraft_v0", *options],
        start_new_session=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the encoder too
    told, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    frames, _ = ffmpeg.count_frames_and_secs(str(file))
    assert frames > 0
    assert f"({frames} frames" in told
