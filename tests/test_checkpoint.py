"""Boundary files: they give the same future, and what is not one of them is refused."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import threading
import zipfile

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import Lamps, Ring

from seer_env.checkpoint import HEADER, _archive, _checksum, model_identity
from seer_env.env import SeerParallelEnv
from seer_env.errors import BoundaryFileError

SCHEDULERS = ("python", "serial", "heap", "seer", "ross-t", "nbse", "root-sim")


def make_env(model=None, **arguments):
    return SeerParallelEnv(model or Ring(patience=12), **{"scheduler": "python", **arguments})


def play(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    digests = []
    for _ in range(steps):
        if not env.agents:
            env.reset_arrays()
        env.step_arrays(env._reader.sample(rng))
        digests.append((env.digest(), tuple(env.agents)))
    return digests


@pytest.fixture
def saved(tmp_path):
    """A file of an env five steps into an episode, and the env."""
    env = make_env()
    env.reset(seed=3)
    play(env, 5)
    env.save(tmp_path / "five.npz")
    return tmp_path / "five.npz", env


@pytest.fixture
def other():
    """An env in an episode of its own, and a check that it has not changed."""
    env = make_env()
    env.reset(seed=99)
    play(env, 2)
    before = env.digest(), list(env.agents), env.np_random.bit_generator.state

    def untouched():
        return (env.digest(), list(env.agents), env.np_random.bit_generator.state) == before

    return env, untouched


@pytest.mark.parametrize("first", SCHEDULERS)
@pytest.mark.parametrize("second", SCHEDULERS)
@pytest.mark.parametrize("model", [Ring(patience=12), Lamps(life=4)])
def test_a_loaded_boundary_has_the_same_future_also_across_episodes(tmp_path, model, first, second):
    env, twin = make_env(model, scheduler=first), make_env(model, scheduler=second)
    env.reset(seed=3)
    play(env, 5)
    env.save(tmp_path / "boundary")
    twin.load(tmp_path / "boundary")
    assert twin.digest() == env.digest()
    assert twin.agents == env.agents
    assert (twin.state() == env.state()).all()
    assert play(twin, 40) == play(env, 40)


def test_load_returns_what_the_boundary_showed(tmp_path):
    env, twin = make_env(Lamps()), make_env(Lamps())
    env.reset(seed=3)
    observations, _, _, _, infos = env.step(dict.fromkeys(env.agents, 2))
    env.save(tmp_path / "boundary")
    loaded, loaded_infos = twin.load(tmp_path / "boundary")
    assert repr(loaded) == repr(observations)
    assert loaded_infos == infos


def test_max_cycles_counts_from_the_episodes_start(tmp_path):
    env, twin = make_env(), make_env(max_cycles=4)
    env.reset(seed=3)
    play(env, 3)
    env.save(tmp_path / "boundary")
    twin.load(tmp_path / "boundary")
    assert twin.step_arrays(np.zeros((6, 2))).truncated.any()


def test_saving_takes_nothing_from_the_env(saved):
    path, env = saved
    digest = env.digest()
    env.save(path.with_name("again"))
    assert env.digest() == digest


def test_the_path_is_used_as_it_is(tmp_path):
    env = make_env()
    env.reset(seed=0)
    env.save(str(tmp_path / "no suffix"))
    assert [p.name for p in tmp_path.iterdir()] == ["no suffix"]


def test_saving_before_reset_is_an_error(tmp_path):
    with pytest.raises(ResetNeeded):
        make_env().save(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    path, env = saved
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        env.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_file_is_an_npz_whose_arrays_need_no_pickle(saved):
    path, env = saved
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["state"].dtype == env.model.entity
        assert json.loads(arrays[HEADER])["steps"] == 5


# -- refused -----------------------------------------------------------------------------------------


def refuse(env, untouched, path, match):
    with pytest.raises(BoundaryFileError, match=match):
        env.load(path)
    assert untouched()


def test_a_missing_file_is_the_operating_systems_error(other, tmp_path):
    env, untouched = other
    with pytest.raises(FileNotFoundError):
        env.load(tmp_path / "nowhere")
    assert untouched()


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, other, keep):
    path, _ = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    refuse(*other, path, "truncated")


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_no_altered_byte_is_accepted_as_another_boundary(tmp_path_factory, data):
    env = make_env(Ring(n_agents=2, extra=0))
    env.reset(seed=3)
    path = tmp_path_factory.mktemp("altered") / "file"
    env.save(path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    twin = make_env(Ring(n_agents=2, extra=0))
    try:
        twin.load(path)
    except BoundaryFileError:
        assert twin.agents == []
    else:  # a byte of zip's own that carries nothing, such as a timestamp
        assert twin.digest() == env.digest()


@pytest.mark.parametrize("content", [b"hello", b"", pickle.dumps({"a": 1}), b"PK\x05\x06" + bytes(18)])
def test_a_foreign_file_is_refused(other, tmp_path, content):
    (tmp_path / "foreign").write_bytes(content)
    refuse(*other, tmp_path / "foreign", "not a boundary file")


def test_a_foreign_npz_is_refused(other, tmp_path):
    np.savez(tmp_path / "foreign.npz", state=np.zeros(3))
    refuse(*other, tmp_path / "foreign.npz", "not a boundary file")


def test_a_compressed_npz_is_refused(other, tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", state=np.zeros(10**6))
    refuse(*other, tmp_path / "bomb.npz", "compressed")


ANOTHER = {
    "n_entities": Ring(patience=12, extra=3),
    "n_agents": Ring(n_agents=5, extra=3, patience=12),
    "params": Ring(patience=13),
    "class": Lamps(),
}


@pytest.mark.parametrize("key", sorted(ANOTHER))
def test_a_file_of_another_model_is_refused_and_the_difference_named(saved, key):
    env = make_env(ANOTHER[key])
    env.reset(seed=0)
    digest = env.digest()
    refuse(env, lambda: env.digest() == digest, saved[0], f"another model: {key}")


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("dt", 0.5), ("lookahead", 0.5), ("payload", 9), ("public", ("x", "noise")), ("name", "circle")],
)
def test_every_declaration_is_part_of_the_models_identity(attribute, value):
    model, own = Ring(), model_identity(Ring())
    setattr(model, attribute, value)
    assert model_identity(model) != own


def test_tables_are_part_of_the_models_identity():
    model, own = Ring(), model_identity(Ring())
    model.tables["weight"] = model.tables["weight"] + 1e-12
    assert model_identity(model) != own


def forge(path, header_changes=None, arrays=None):
    """Rewrite a file with a valid checksum, as an attacker would."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = {**json.loads(members.pop(HEADER)), **(header_changes or {})}
    header.pop("checksum")
    for name, change in (arrays or {}).items():
        array = np.load(io.BytesIO(members[f"{name}.npy"]), allow_pickle=False)
        buffer = io.BytesIO()
        np.save(buffer, change(array), allow_pickle=True)
        members[f"{name}.npy"] = buffer.getvalue()
    header["checksum"] = _checksum(header, members)
    path.write_bytes(_archive(header, members))


class Bomb:
    """Raises when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code ran')",)


def changed(field, value):
    def change(array):
        array[field][:1] = value
        return array

    return change


FORGED = {
    "pickle": ({}, {"state": lambda a: np.array([Bomb()] * len(a), object)}, "cannot be read"),
    "version": ({"version": 2}, {}, "version 2"),
    "format": ({"format": "x"}, {}, "not a boundary file"),
    "steps": ({"steps": -1}, {}, "steps"),
    "generator": ({"np_random": {"bit_generator": "MT19937"}}, {}, "np_random"),
    "generator type": ({"np_random": 5}, {}, "np_random"),
    "shape": ({}, {"state": lambda a: a[:-1]}, r"state.*expected"),
    "dtype": ({}, {"emitted": lambda a: a.astype("i4")}, r"emitted.*int32"),
    "target": ({}, {"pending": changed("target", 8)}, "entity that does not exist"),
    "kind": ({}, {"pending": changed("kind", -1)}, "kind that does not exist"),
    "past": ({}, {"pending": changed("time", 1.0)}, "not in the future"),
    "nan": ({}, {"pending": changed("time", np.nan)}, "not in the future"),
    "order": ({}, {"pending": lambda a: a[::-1]}, "key order"),
    "counter": ({}, {"emitted": lambda a: a - 10**9}, "negative"),
}


@pytest.mark.parametrize("what", sorted(FORGED))
def test_a_forged_file_with_a_valid_checksum_is_refused(saved, other, what):
    header, arrays, match = FORGED[what]
    forge(saved[0], header, arrays)
    refuse(*other, saved[0], match)


def test_an_unchanged_forgery_is_loaded(saved, other):
    forge(saved[0])
    other[0].load(saved[0])
    assert other[0].digest() == saved[1].digest()


def test_saving_follows_a_link(saved, tmp_path):
    path, env = saved
    link = tmp_path / "link.npz"
    link.symlink_to(path)
    path.unlink()
    env.save(link)
    assert link.is_symlink()
    assert path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_saving_into_a_pipe_writes_the_file_through_it(saved, tmp_path):
    path, env = saved
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    env.save(pipe)
    reader.join(10.0)
    assert received == [path.read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("offset", range(0, 900, 7))
def test_no_changed_byte_is_accepted(saved, offset):
    path, env = saved
    content = bytearray(path.read_bytes())
    content[offset % len(content)] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(BoundaryFileError):
        env.load(path)
