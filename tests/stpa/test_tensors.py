"""Our reader and writer of safetensors files against the library's."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.stpa.tensors import read_tensors, write_tensors

ARRAYS = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([1.5], np.float64),
    "c": np.array([[-1], [2]], np.int64),
    "empty": np.zeros((0, 4), np.float32),
}


def equal(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].dtype == two[name].dtype
        assert one[name].shape == two[name].shape
        assert (one[name] == two[name]).all()


def test_what_is_written_is_read(tmp_path):
    write_tensors(tmp_path / "x.safetensors", ARRAYS)
    equal(read_tensors(tmp_path / "x.safetensors"), ARRAYS)


def test_the_library_reads_what_we_write(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="the format's own library is optional")
    write_tensors(tmp_path / "x.safetensors", ARRAYS)
    equal(library.load_file(tmp_path / "x.safetensors"), ARRAYS)


def test_we_read_what_the_library_writes(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="the format's own library is optional")
    library.save_file(ARRAYS, tmp_path / "x.safetensors", metadata={"format": "np"})
    equal(read_tensors(tmp_path / "x.safetensors"), ARRAYS)


def test_a_file_cut_short_is_refused(tmp_path):
    file = tmp_path / "x.safetensors"
    write_tensors(file, ARRAYS)
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(ValueError, match="cannot read 'c'"):
        read_tensors(file)
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(ValueError, match="no safetensors file"):
        read_tensors(file)
