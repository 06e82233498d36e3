"""Boundaries as files: an npz with a JSON header. Loading one never runs code.

A file is a zip of uncompressed members: `header.json` and one `<name>.npy` per array. The header
names the format, the model that the boundary belongs to, and a BLAKE2b checksum over the rest of
the header and the bytes of every array, which is verified before any array is parsed. Arrays are
read with `allow_pickle=False`, and their dtypes, shapes and events are checked against the model.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seer_env.errors import BoundaryFileError
from seer_env.files import write_whole
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.engine import Outputs
from seer_env.runtime.layout import pending_dtype

if TYPE_CHECKING:
    from seer_env.model import EventModel

__all__ = ["Snapshot", "load_snapshot", "model_identity", "save_snapshot"]

FORMAT, VERSION = "seer_env boundary", 1
HEADER = "header.json"


@dataclass
class Snapshot:
    """What an env is at a boundary.

    Attributes:
        boundary: the world.
        outputs: what the boundary showed of the agents.
        live, shown: bool `[M]`: agents that are live, and those whose observation `outputs` holds.
        np_random: state of the generator that later episodes draw their seeds from.
    """

    boundary: Boundary
    outputs: Outputs
    live: np.ndarray
    shown: np.ndarray
    np_random: dict[str, Any]

    def arrays(self) -> dict[str, np.ndarray]:
        """Every array by name."""
        outputs = {k: v for k, v in self.outputs._asdict().items() if v is not None}
        world = {name: getattr(self.boundary, name) for name in Boundary.ARRAYS}
        return {**world, **outputs, "live": self.live, "shown": self.shown}


def model_identity(model: EventModel) -> dict[str, Any]:
    """What must agree between the model that saved a boundary and the one that loads it, as JSON."""
    tables = {name: _table_digest(table) for name, table in sorted(model.tables.items())}
    identity = {
        "class": type(model).__qualname__,
        "name": model.name,
        "kinds": {kind.name: int(kind) for kind in model.Kind},
        "entity": model.entity.descr,
        "info": None if model.info is None else model.info.descr,
        "n_entities": model.n_entities,
        "n_agents": model.n_agents,
        "lookahead": float(model.lookahead),
        "dt": float(model.dt),
        "payload_words": model.payload_words,
        "public": list(model.public),
        "grid": repr(model.grid),
        "action_kind": None if model.action_kind is None else int(model.action_kind),
        "action_space": repr(model.action_space),
        "observation_space": repr(model.observation_space),
        "params": {name: np.asarray(value).item() for name, value in model.params.items()},
        "tables": tables,
    }
    return json.loads(json.dumps(identity))


def save_snapshot(path: str | os.PathLike, model: EventModel, snapshot: Snapshot) -> None:
    """Write a boundary file; `path` holds it whole or, after a failure, what it held before."""
    members = {f"{name}.npy": _npy(array) for name, array in snapshot.arrays().items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": model_identity(model),
        "steps": snapshot.boundary.steps,
        "np_random": snapshot.np_random,
    }
    header["checksum"] = _checksum(header, members)
    write_whole(path, _archive(header, members))


def _archive(header: dict[str, Any], members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {HEADER: json.dumps(header).encode(), **members}.items():
            entry = zipfile.ZipInfo(name)  # with a fixed date: the same boundary is the same file
            entry.create_system, entry.external_attr = 3, 0o600 << 16  # on every platform
            archive.writestr(entry, content)
    return buffer.getvalue()


def load_snapshot(path: str | os.PathLike, model: EventModel) -> Snapshot:
    """Read a boundary file.

    Raises:
        BoundaryFileError: the file is truncated, altered, foreign, or of another model.
        OSError: the file cannot be read at all.
    """
    header, members = _read_members(path)
    if header.get("format") != FORMAT:
        raise BoundaryFileError(f"{path}: not a boundary file of seer_env")
    if header.get("version") != VERSION:
        raise BoundaryFileError(f"{path}: format version {header.get('version')!r}, this is {VERSION}")
    if header.pop("checksum", None) != _checksum(header, members):
        raise BoundaryFileError(f"{path}: the checksum does not match, the file was altered or damaged")
    _require_model(path, header.get("model"), model_identity(model))
    arrays = _parse(path, members, _expected(model))
    snapshot = _assemble(path, header, arrays)
    problem = _event_problem(snapshot.boundary, model)
    if problem:
        raise BoundaryFileError(f"{path}: {problem}")
    return snapshot


def _read_members(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, bytes]]:
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Stored members cannot be larger than the file: no decompression bomb.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ValueError("its members are compressed")
            if len(set(archive.namelist())) != len(archive.namelist()):
                raise ValueError("it holds a member twice")
            members = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(members.pop(HEADER))
        if not isinstance(header, dict):
            raise ValueError("its header is not a JSON object")
        if content != _archive(header, members):
            raise ValueError("it was not written by seer_env, or has been changed")
    except Exception as error:  # zipfile and json raise a dozen kinds for bytes they did not write
        raise BoundaryFileError(f"{path}: truncated, damaged or not a boundary file: {error!r}") from error
    return header, members


def _require_model(path: str | os.PathLike, saved: Any, own: dict[str, Any]) -> None:
    if not isinstance(saved, dict):
        raise BoundaryFileError(f"{path}: names no model")
    for key in [*own, *(key for key in saved if key not in own)]:
        if json.dumps(saved.get(key)) != json.dumps(own.get(key)):  # equal for NaN too
            raise BoundaryFileError(
                f"{path}: of another model: {key} is {saved.get(key)!r} in the file, "
                f"{own.get(key)!r} in this env. Load it into an env made with the same arguments."
            )


def _expected(model: EventModel) -> dict[str, tuple[np.dtype, tuple[int | None, ...]]]:
    """dtype and shape of every array; None stands for any length."""
    entities, agents = model.n_entities, model.n_agents
    expected: dict[str, tuple[np.dtype, tuple[int | None, ...]]] = {
        "state": (model.entity, (entities,)),
        "emitted": (np.dtype(np.int64), (entities,)),
        "stream": (np.dtype(np.uint64), (entities,)),
        "gamma": (np.dtype(np.uint64), (entities,)),
        "pending": (pending_dtype(model.payload_words), (None,)),
        "observations": (np.dtype(np.float32), (agents, model.observation_size)),
        "rewards": (np.dtype(np.float64), (agents,)),
        "terminated": (np.dtype(bool), (agents,)),
        "live": (np.dtype(bool), (agents,)),
        "shown": (np.dtype(bool), (agents,)),
    }
    if model.info is not None:
        expected["info"] = (model.info, (agents,))
    return expected


def _parse(path, members: dict[str, bytes], expected: dict) -> dict[str, np.ndarray]:
    if set(members) != {f"{name}.npy" for name in expected}:
        raise BoundaryFileError(f"{path}: holds {sorted(members)}, expected {sorted(expected)}")
    arrays = {}
    for name, (dtype, shape) in expected.items():
        try:
            array = np.lib.format.read_array(io.BytesIO(members[f"{name}.npy"]), allow_pickle=False)
        except (ValueError, EOFError, SyntaxError, TypeError, MemoryError) as error:
            raise BoundaryFileError(f"{path}: array {name!r} cannot be read: {error}") from error
        fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape))
        if array.dtype != dtype or not fits:
            raise BoundaryFileError(
                f"{path}: array {name!r} is {array.dtype} {array.shape}, expected {dtype} {shape}"
            )
        arrays[name] = array.view(dtype)  # the model's own dtype object: a file forgets `align`
    return arrays


def _assemble(path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Snapshot:
    steps, generator = header.get("steps"), header.get("np_random")
    if type(steps) is not int or not 0 <= steps < 1 << 53:
        raise BoundaryFileError(f"{path}: the header's steps is {steps!r}")
    try:
        np.random.PCG64(0).state = generator  # type: ignore[assignment]  # the setter is the check
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise BoundaryFileError(f"{path}: the header's np_random is not a PCG64 state: {error}") from error
    assert isinstance(generator, dict)
    boundary = Boundary(steps, **{name: arrays[name] for name in Boundary.ARRAYS})
    outputs = Outputs(*(arrays.get(name) for name in Outputs._fields))  # type: ignore[arg-type]  # info may be None
    return Snapshot(boundary, outputs, arrays["live"], arrays["shown"], generator)


def _event_problem(boundary: Boundary, model: EventModel) -> str | None:
    """Why compiled code could not be trusted with these events, or None."""
    events = boundary.pending
    if not (np.isfinite(events["time"]).all() and (events["time"] >= boundary.steps * model.dt).all()):
        return "a pending event is not in the future"
    if ((events["target"] < 0) | (events["target"] >= model.n_entities)).any():
        return "a pending event is for an entity that does not exist"
    if ((events["kind"] < 0) | (events["kind"] >= len(model.Kind))).any():
        return "a pending event is of a kind that does not exist"
    order = np.lexsort((events["seq"], events["time"]))
    if (order != np.arange(len(events))).any() or (events["seq"] < 0).any():
        return "pending events are not in key order"
    return "an emission counter is negative" if (boundary.emitted < 0).any() else None


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _checksum(header: dict[str, Any], members: dict[str, bytes]) -> str:
    digest = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=32)
    for name, content in sorted(members.items()):
        digest.update(f"\0{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _table_digest(table: np.ndarray) -> str:
    content = hashlib.blake2b(table.tobytes(), digest_size=16).hexdigest()
    return f"{table.dtype.str} {table.shape} {content}"
