"""The cache of compiled code: found again, repaired if damaged, done without if there is no folder."""

from __future__ import annotations

import numpy as np
import pytest
from numba import int64, types

from seer_env.runtime import compile as compiling

SIGNATURE = types.int64(types.int64)


def double(x):
    return x + x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path / "cache"))
    compiling._USABLE.clear()
    yield tmp_path / "cache"
    compiling._USABLE.clear()


def compiled(stamp="stamp"):
    return compiling.c_function(double, SIGNATURE, stamp)


def test_the_second_compilation_is_a_cache_hit(folder):
    assert compiled().cache_hits == 0
    assert compiled().cache_hits == 1


def test_another_stamp_is_compiled_anew(folder):
    compiled("one")
    assert compiled("other").cache_hits == 0


def test_without_a_stamp_nothing_is_kept(folder):
    assert compiling.c_function(double, SIGNATURE, None).cache_hits == 0
    assert not folder.exists()


@pytest.mark.parametrize("kept", [0, 10, 100])
@pytest.mark.parametrize("suffix", ["*.nbi", "*.nbc"])
def test_a_truncated_file_is_compiled_again_and_replaced(folder, kept, suffix, caplog):
    compiled()
    (file,) = folder.rglob(suffix)
    file.write_bytes(file.read_bytes()[:kept])
    assert compiled().ctypes(21) == 42
    assert compiled().cache_hits == 1


def test_a_folder_that_cannot_be_made_costs_a_warning_and_compilations(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(blocked / "cache"))
    compiling._USABLE.clear()
    with pytest.warns(RuntimeWarning, match="SEER_ENV_CACHE_DIR"):
        assert compiled().ctypes(21) == 42
    assert compiled().cache_hits == 0
    compiling._USABLE.clear()


def test_old_stamps_are_forgotten(folder, monkeypatch):
    monkeypatch.setattr(compiling, "KEPT_STAMPS", 2)
    for stamp in ("one", "two", "three"):
        compiled(stamp)
    compiling._USABLE.clear()
    compiled("four")
    assert {f.name for f in (folder / "compiled").iterdir()} == {"two", "three", "four"}


def test_an_eager_dispatcher_is_cached_too(folder):
    def triple(x):
        return int64(3) * x

    first = compiling.cached_njit(triple, SIGNATURE, "stamp")
    second = compiling.cached_njit(triple, SIGNATURE, "stamp")
    assert first(np.int64(5)) == second(np.int64(5)) == 15
    assert sum(second.stats.cache_hits.values()) == 1


def test_what_others_keep_beside_it_is_left_alone(folder, monkeypatch):
    monkeypatch.setattr(compiling, "KEPT_STAMPS", 0)
    (folder / "somebody's").mkdir(parents=True)
    compiled()
    assert (folder / "somebody's").is_dir()
