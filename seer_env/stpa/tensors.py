"""Arrays by name in a safetensors file: an 8-byte length, a JSON header, the arrays' bytes.

The format is https://github.com/huggingface/safetensors (README, "Format"). Reading it takes a few lines, so
the installed package needs no library for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from seer_env.files import write_whole

__all__ = ["read_tensors", "write_tensors"]

_DTYPES: dict[str, np.dtype] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, read-only.

    Raises:
        ValueError: it is cut short, or holds a dtype that is not in use here.
    """
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 + length:
        raise ValueError(f"{path} is no safetensors file: it has {len(content)} bytes, its header {length}")
    header = json.loads(content[8 : 8 + length])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        if entry["dtype"] not in _DTYPES or end > len(content):
            raise ValueError(f"{path}: cannot read {name!r}, {entry['dtype']} at bytes {begin} to {end}")
        flat: np.ndarray = np.frombuffer(content[begin:end], _DTYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write float32, float64 or int64 arrays, whole or not at all."""
    header, blocks, offset = {}, [], 0
    for name, values in arrays.items():
        array = np.ascontiguousarray(values)
        block = array.tobytes()
        offsets = [offset, offset + len(block)]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        blocks.append(block)
        offset += len(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data is aligned
    write_whole(path, len(text).to_bytes(8, "little") + text + b"".join(blocks))
