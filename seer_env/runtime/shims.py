"""From a model to machine code: one C function per handler and per range of agents or entities.

The engine calls these through their addresses, so it is compiled once for all models. Handlers are
compiled from copies of the user's functions in which plain functions that they call are compiled
too; nothing of the user's is changed.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import carray, int64, types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError

from seer_env.compile_errors import explained
from seer_env.runtime import sim_boundary, sim_events, sim_type  # noqa: F401 - sim_events: registers `emit`
from seer_env.runtime.atomics import array_at, pointer, prefetch, record_at
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.fingerprint import Unfingerprintable, fingerprint
from seer_env.runtime.layout import CACHE_LINE, MICRO_SHIFT
from seer_env.runtime.leq import EXCEPTION, record_breach
from seer_env.runtime.user_code import UserFunctions, place

if TYPE_CHECKING:
    from seer_env.model import EventModel

SHIM = types.void(types.int64, types.int64, types.int64)
NO_INFO = np.dtype([("none", "i8")])

#: Each entry point takes (first, last, worker) but the handlers', which take (me, event, worker).
HANDLER = """
def handler_{kind}(me, event, address):
    worker = worker_at(address)
    try:
        handle(record_at(me, ENTITY), read_only(record_at(event, EVENT)), sim_at(address))
    except Exception:
        record_breach(worker, EXCEPTION, int64(-1), 0.0, int64(0))
"""
ACT = """
def act(first, last, address):
    worker = worker_at(address)
    control = control_at(worker.control)
    states = array_at(control.state, ENTITY)
    actions = carray(pointer(control.actions), (control.n_agents, SIZE), float64)
    live = array_at(control.live, uint8)
    event = record_at(worker.action_event, EVENT)
    worker.now, worker.micro, worker.kind = control.clock, int64(0), int64(ACTION_KIND)
    event.time, event.kind = control.clock, int32(ACTION_KIND)
    for agent in range(first, last):
        if live[agent] == 0:
            continue
        worker.me, worker.stopped = agent, 0
        worker.seq = agent - FIRST_SEQ
        event.target = int32(agent)
        for k in range(SIZE):
            event.payload[k] = actions[agent, k]
        for k in range(SIZE, WORDS):
            event.payload[k] = 0.0
        try:
            handle(states[agent], read_only(event), sim_at(address))
        except Exception:
            record_breach(worker, EXCEPTION, int64(-1), 0.0, int64(0))
        worker.events += 1
"""
OBSERVE = """
def observe(first, last, address):
    worker = worker_at(address)
    control = control_at(worker.control)
    n = control.n_agents
    states = array_at(control.state, ENTITY)
    observations = array_at(control.observations, float32)
    rewards = array_at(control.rewards, float64)
    terminated = array_at(control.terminated, uint8)
    infos = array_at(control.info, INFO)
    info_words = carray(pointer(control.info), (n, INFO_BYTES), uint8)
    live = array_at(control.live, uint8)
    order = array_at(control.order, int32_)
    sim = sim_at(address)
    worker.now, worker.seq, worker.kind = control.clock, int64(0), int64(-1)
    for q in range(first, last):
        if RANKED and q + ROWS_AHEAD < last:
            ahead = order[q + ROWS_AHEAD]
            if ahead < n:
                for word in range(0, SIZE, LINE_FLOATS):
                    prefetch(observations, ahead * SIZE + word)
                prefetch(rewards, int64(ahead))
                prefetch(infos, int64(ahead))
                prefetch(states, int64(ahead))
        agent = int64(order[q]) if RANKED else q
        if agent >= n:
            continue
        row = observations[agent * SIZE : (agent + 1) * SIZE]
        info_words[agent, :], rewards[agent], terminated[agent] = 0, 0.0, 0
        row[:] = 0.0
        if live[agent] == 0:
            continue
        worker.me, worker.stopped = agent, 0
        me, info = states[agent], infos[agent]
        try:
            write_observation(me, row, info, sim)
            rewards[agent] = reward(me, info, sim)
            terminated[agent] = bool(is_terminated(me, info, sim))
        except Exception:
            record_breach(worker, EXCEPTION, int64(-1), 0.0, int64(0))
"""
#: Part p of P covers entities [p*N//P, (p+1)*N//P): fixed by index, so ranks do not depend on who works.
COUNT_CELLS = """
def count_cells(first, last, address):
    control = control_at(worker_at(address).control)
    n, cells = control.n_entities, cells_at(worker_at(address).control)
    states = array_at(control.state, ENTITY)
    cell = array_at(control.cell, int32_)
    counts = carray(pointer(control.histogram), (control.parts, control.n_cells), int32_)
    for part in range(first, last):
        counts[part, :] = 0
        for i in range(part * n // control.parts, (part + 1) * n // control.parts):
            me = states[i]
            c = clamped_cell(me.{x}, cells.low_x, cells.inverse_x, cells.nx)
            {rows}
            cell[i] = c
            counts[part, c] += 1
"""
ROW_Y = "c += clamped_cell(me.{y}, cells.low_y, cells.inverse_y, cells.ny) * cells.nx"
ROW_Z = "c += clamped_cell(me.{z}, cells.low_z, cells.inverse_z, cells.nz) * cells.nx * cells.ny"
PUBLISH = """
def publish(first, last, address):
    control = control_at(worker_at(address).control)
    n = control.n_entities
    states = array_at(control.state, ENTITY)
    public = array_at(control.public, PUBLIC)
    {setup}
    for part in range(first, last):
        for i in range(part * n // control.parts, (part + 1) * n // control.parts):
            me = states[i]
            {place}
            row = public[r]
            {copies}
"""
PUBLISH_SETUP = """cell = array_at(control.cell, int32_)
    counts = carray(pointer(control.histogram), (control.parts, control.n_cells), int32_)
    starts, order, rank, x, y, z = index_at(worker_at(address).control)"""
PUBLISH_PLACE = """c = cell[i]
            r = counts[part, c]
            counts[part, c] = r + 1
            order[r] = i
            rank[i] = r
            {positions}"""


@dataclass(frozen=True)
class CompiledModel:
    """Addresses of a model's C functions, 0 where it has none; keeps the code alive.

    `stamp` is the fingerprint of all that they were compiled from, or None if there is none.
    """

    spec: sim_type.SimSpec
    handlers: tuple[int, ...]
    act: int
    observe: int
    count_cells: int
    publish: int
    stamp: str | None
    functions: tuple[CFunc, ...]

    @property
    def compilations(self) -> int:
        """How many of the functions were compiled rather than found in the cache."""
        return sum(f.cache_hits == 0 for f in self.functions)


_COMPILED: OrderedDict[str, CompiledModel] = OrderedDict()
_LOCK = threading.RLock()


def _renew_lock() -> None:
    """In a forked child: the thread that held it does not exist there."""
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
_KEPT = 64


def sim_spec(model: EventModel) -> sim_type.SimSpec:
    """The part of a model that its compiled `sim` depends on."""
    return sim_type.SimSpec(
        entity=model.entity,
        words=model.payload_words,
        params=params_dtype(model),
        tables=tuple((name, t.dtype, t.ndim) for name, t in model.tables.items()),
        public=model.public_dtype,
        dimensions=len(model.grid.fields) if model.grid else 0,
        info=NO_INFO if model.info is None else model.info,
        action_size=model.action_size,
        observation_size=model.observation_size,
    )


def params_dtype(model: EventModel) -> np.dtype:
    """Record dtype of `sim.params`: bool, int64 or float64 by the value's type."""

    def code(value) -> str:
        if isinstance(value, (bool, np.bool_)):
            return "?"
        return "i8" if isinstance(value, (int, np.integer)) else "f8"

    return np.dtype([(name, code(v)) for name, v in model.params.items()] or [("none", "i8")], align=True)


def compile_model(model: EventModel) -> CompiledModel:
    """Compile a model, or find it in this process or in the cache on disk."""
    spec = sim_spec(model)
    functions = [model.handlers[int(k)] for k in model.Kind]
    outputs = [model.observe, model.reward, model.terminated]
    grid = model.grid.fields if model.grid else ()
    try:
        shape = (grid, model.action_kind, model.n_agents > 0, model.info is None)
        stamp = fingerprint(package_fingerprint(), repr(spec), shape, functions, outputs)
    except Unfingerprintable as reason:
        stamp = None
        _warn_uncached(type(model).__name__, str(reason))
    with _LOCK:
        if stamp is not None and stamp in _COMPILED:
            _COMPILED.move_to_end(stamp)
            return _COMPILED[stamp]
        compiled = _compile(model, spec, stamp)
        if stamp is not None:
            _COMPILED[stamp] = compiled
            while len(_COMPILED) > _KEPT:
                _COMPILED.popitem(last=False)
        return compiled


@cache
def _warn_uncached(model: str, reason: str) -> None:
    """Say once that a model is compiled anew each time, and why."""
    logging.getLogger("seer_env").warning(
        "%s reaches a %s, which cannot be compared across processes: it is compiled anew each time",
        model,
        reason,
    )


def _compile(model: EventModel, spec: sim_type.SimSpec, stamp: str | None) -> CompiledModel:
    for name in model.tables:
        sim_type.declare_table(name)
    label = stamp or uuid.uuid4().hex
    spec = replace(spec, label=label)
    scope = _scope(spec)
    copies = UserFunctions(label)
    functions: list[CFunc] = []

    def build(source: str, name: str, users: str, **extra) -> int:
        functions.append(_build(source, name, {**scope, **extra}, stamp, users, spec))
        return int(functions[-1].address or 0)

    by_kind = {int(k): copies.compiled(model.handlers[int(k)], inline=True) for k in model.Kind}
    addresses = tuple(
        build(HANDLER.format(kind=k), f"handler_{k}", place(model.handlers[k]), handle=handle)
        for k, handle in by_kind.items()
    )
    act = observe = count_cells = publish = 0
    if model.action_kind is not None:
        kind = int(model.action_kind)
        users = place(model.handlers[kind])
        act = build(ACT, "act", users, handle=by_kind[kind], SIZE=spec.action_size, ACTION_KIND=kind)
    if model.n_agents:
        users = ", ".join(map(place, (model.observe, model.reward, model.terminated)))
        observe = build(OBSERVE, "observe", users, **_outputs_scope(model, spec, copies))
    if model.grid is not None:
        count_cells = build(_count_cells_source(model), "count_cells", "the grid")
    if model.public:
        publish = build(_publish_source(model), "publish", "the public fields")
    return CompiledModel(spec, addresses, act, observe, count_cells, publish, stamp, tuple(functions))


def _scope(spec: sim_type.SimSpec) -> dict[str, Any]:
    return {
        "carray": carray,
        "pointer": pointer,
        "array_at": array_at,
        "record_at": record_at,
        "int64": int64,
        "int32": types.int32,
        "int32_": np.int32,
        "uint8": np.uint8,
        "float64": np.float64,
        "float32": np.float32,
        "worker_at": sim_type.worker_at,
        "control_at": sim_type.control_at,
        "cells_at": sim_boundary.cells_at,
        "index_at": sim_boundary.index_at,
        "clamped_cell": sim_boundary.compiled_cell,
        "record_breach": record_breach,
        "read_only": sim_type.read_only,
        "prefetch": prefetch,
        "ROWS_AHEAD": 8,
        "LINE_FLOATS": CACHE_LINE // 4,
        "EXCEPTION": EXCEPTION,
        "FIRST_SEQ": 1 << MICRO_SHIFT,
        "WORDS": spec.event["payload"].shape[0],
        "sim_at": sim_type.sim_constructor(spec),
        "LABEL": spec.label,
        "ENTITY": spec.entity,
        "EVENT": spec.event,
        "INFO": spec.info,
        "PUBLIC": spec.public if spec.public.names else None,
        # Environments are found again by module name when code is loaded from the cache.
        "__name__": __name__,
    }


def _outputs_scope(model: EventModel, spec: sim_type.SimSpec, copies: UserFunctions) -> dict[str, Any]:
    """What the outputs' shim has of its own."""
    return {
        "sim_at": sim_type.sim_constructor(replace(spec, outputs=True)),
        "SIZE": spec.observation_size,
        "INFO_BYTES": spec.info.itemsize if model.info is not None else 0,
        "RANKED": model.grid is not None,
        "write_observation": copies.compiled(model.observe),
        "reward": copies.compiled(model.reward),
        "is_terminated": copies.compiled(model.terminated),
    }


def _build(
    source: str, name: str, scope: dict[str, Any], stamp: str | None, users: str, spec: sim_type.SimSpec
) -> CFunc:
    exec(compile(source, f"<seer_env {name}>", "exec"), scope)
    scope[name].__qualname__ = f"{name}_{scope['LABEL']}"  # as in `UserFunctions`
    try:
        return c_function(scope[name], SHIM, stamp)
    except (NumbaError, KeyError, AssertionError, NotImplementedError, IndexError) as error:
        refusal = explained(error, spec, scope, users)
        raise refusal from refusal.__cause__


def _count_cells_source(model: EventModel) -> str:
    fields = dict(zip("xyz", model.grid.fields))  # type: ignore[union-attr]  # caller checked
    rows = [row.format(**fields) for row in (ROW_Y, ROW_Z)[: len(fields) - 1]]
    return COUNT_CELLS.format(x=fields["x"], rows="\n            ".join(rows))


def _publish_source(model: EventModel) -> str:
    indent = "\n            "
    fields = zip("xyz", model.grid.fields) if model.grid else ()
    positions = indent.join(f"{axis}[r] = me.{name}" for axis, name in fields)
    copies = []
    for name in model.public:
        scalar = model.entity.fields[name][0].subdtype is None  # type: ignore[index]  # validated
        copies.append(f"row.{name} = me.{name}" if scalar else f"row.{name}[:] = me.{name}")
    return PUBLISH.format(
        setup=PUBLISH_SETUP if model.grid else "",
        place=PUBLISH_PLACE.format(positions=positions) if model.grid else "r = i",
        copies=indent.join(copies),
    )
