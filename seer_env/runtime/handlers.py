"""`sim` in compiled handlers and outputs: a numba type that holds the address of its worker.

| word | meaning |
|---|---|
| `sim.me`, `sim.now` | index of the entity; time of the event, or of the boundary in outputs |
| `sim.n_entities`, `sim.n_agents` | sizes |
| `sim.params.<name>`, `sim.tables.<name>` | the model's constants |
| `sim.emit(target, delay, kind, *payload)` | send an event (handlers only) |
| `sim.random()`, `normal(mean, std)`, `exponential(mean)`, `integers(n)` | own stream (handlers only) |
| `sim.view(j)` | public fields of entity j at the last boundary |
| `sim.offset(j)` | displacement to j at that boundary, a tuple, by the shortest way round a torus |
| `sim.nearest(k, radius)` | `(count, ids)`: others within the radius, ids of the k nearest or -1 |
| `sim.within(radius)` | ids of the others within the radius, int64, valid until the next query |

`runtime/schedulers/python_sim.py` has the same words in plain Python.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, overload_attribute, overload_method, register_model

from seer_env.runtime.atomics import I64, pointer
from seer_env.runtime.grid import Cells, clamped_cell, nearest_image
from seer_env.runtime.grid_queries import NEAR_BUFFER, nearest_function, within_function
from seer_env.runtime.layout import CONTROL, UNBOUNDED, WORKER, event_dtype
from seer_env.runtime.leq import HEADER, LEQ, open_event, send_event
from seer_env.runtime.rng import TO_UNIT

kernel = njit(nogil=True, error_model="numpy")
HEADER_BYTES = HEADER.itemsize
PAYLOAD_OFFSET = HEADER.fields["payload"][1]  # type: ignore[index]  # a structured dtype


STOPPED = "a rule was broken, and the step stops here"


@dataclass(frozen=True)
class SimSpec:
    """What of a model the compiled `sim` depends on; hashable, and the name of its numba type."""

    entity: np.dtype
    words: int
    params: np.dtype
    tables: tuple[tuple[str, np.dtype, int], ...]
    public: np.dtype
    dimensions: int
    info: np.dtype
    action_size: int
    observation_size: int
    outputs: bool = field(default=False)

    @property
    def event(self) -> np.dtype:
        """Event record with this model's payload."""
        return event_dtype(self.words)


class SimType(types.Type):
    """The numba type of `sim`."""

    def __init__(self, spec: SimSpec):
        self.spec = spec
        super().__init__(f"Sim({spec!r})")


class TablesType(types.Type):
    """The numba type of `sim.tables`."""

    def __init__(self, spec: SimSpec):
        self.spec = spec
        super().__init__(f"Tables({spec!r})")


@register_model(SimType)
@register_model(TablesType)
class AddressModel(models.PrimitiveModel):
    """Both are one int64: an address."""

    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, I64)


def _identity(context, builder, sig, args):
    return args[0]


def sim_constructor(spec: SimSpec):
    """An intrinsic that makes the `sim` of a worker's address."""

    def sim_at(typingctx, address):
        return SimType(spec)(types.int64), _identity

    return intrinsic(sim_at)


@intrinsic
def address_of(typingctx, sim):
    """The address that a `sim` or `sim.tables` holds."""
    return types.int64(sim), _identity


@intrinsic
def tables_at(typingctx, sim):
    """`sim.tables` of a `sim`."""
    return TablesType(sim.spec)(sim), _identity


@kernel
def worker_at(address):
    """The worker record at an address."""
    return carray(pointer(address), (1,), WORKER)[0]


@kernel
def control_at(address):
    """The control record at an address."""
    return carray(pointer(address), (1,), CONTROL)[0]


def fixed_field(dtype: np.dtype, name: str, element: int = 0):
    """An intrinsic that reads a field of the record at an address, once per C function.

    The load is declared invariant: what a step never changes while handlers run (addresses, sizes,
    the grid's geometry) need not be read again after every store that a handler makes.
    """
    kind, offset = dtype.fields[name][:2]  # type: ignore[index,misc]  # a structured dtype
    floating = kind.base.kind == "f"
    result, lowered = (types.float64, ir.DoubleType()) if floating else (types.int64, I64)

    def read(typingctx, address):
        def codegen(context, builder, sig, args):
            place = builder.add(args[0], I64(offset + 8 * element))
            value = builder.load(builder.inttoptr(place, lowered.as_pointer()), align=8)
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        return result(types.int64), codegen

    read.__name__ = f"read_{name}_{element}"
    return intrinsic(read)


_control_of = fixed_field(WORKER, "control")
_found_of, _near_of = fixed_field(WORKER, "found"), fixed_field(WORKER, "near")
_n_of, _agents_of = fixed_field(CONTROL, "n_entities"), fixed_field(CONTROL, "n_agents")
_params_of, _tables_of = fixed_field(CONTROL, "params"), fixed_field(CONTROL, "tables")
_public_of, _starts_of = fixed_field(CONTROL, "public"), fixed_field(CONTROL, "starts")
_order_of, _rank_of = fixed_field(CONTROL, "order"), fixed_field(CONTROL, "rank")
_x_of, _y_of, _z_of = (fixed_field(CONTROL, axis) for axis in "xyz")
_nx_of, _ny_of, _nz_of = (fixed_field(CONTROL, "cells_i", d) for d in range(3))
_inverse_x_of, _inverse_y_of, _inverse_z_of = (fixed_field(CONTROL, "cells_f", d) for d in range(3))
_low_x_of, _low_y_of, _low_z_of = (fixed_field(CONTROL, "cells_f", 3 + d) for d in range(3))
_periods_of = tuple(fixed_field(CONTROL, "cells_f", 6 + d) for d in range(3))
_period_x_of, _period_y_of, _period_z_of = _periods_of


# -- sizes, time and constants -----------------------------------------------------------------------


@overload_attribute(SimType, "me")
def _me(sim):
    return lambda sim: worker_at(address_of(sim)).me


@overload_attribute(SimType, "now")
def _now(sim):
    if sim.spec.outputs:
        return lambda sim: control_at(worker_at(address_of(sim)).control).clock
    return lambda sim: worker_at(address_of(sim)).now


@overload_attribute(SimType, "n_entities")
def _n_entities(sim):
    return lambda sim: _n_of(_control_of(address_of(sim)))


@overload_attribute(SimType, "n_agents")
def _n_agents(sim):
    return lambda sim: _agents_of(_control_of(address_of(sim)))


@overload_attribute(SimType, "params")
def _params(sim):
    dtype = sim.spec.params

    def params(sim):
        return carray(pointer(_params_of(_control_of(address_of(sim)))), (1,), dtype)[0]

    return params


@overload_attribute(SimType, "tables")
def _tables(sim):
    return lambda sim: tables_at(sim)


_TABLE_NAMES: set[str] = set()


def declare_table(name: str) -> None:
    """Make `sim.tables.<name>` known to numba; once per name and process."""
    if name in _TABLE_NAMES:
        return
    _TABLE_NAMES.add(name)

    def table(tables):
        names = [entry[0] for entry in tables.spec.tables]
        if name not in names:
            raise TypingError(f"sim.tables.{name}: this model's tables are {names}")
        row = names.index(name)
        _, dtype, dimensions = tables.spec.tables[row]
        return _table_reader(row * 5, dtype, dimensions)

    overload_attribute(TablesType, name)(table)


def _table_reader(at: int, dtype, dimensions: int):
    """A table's row of the descriptor: address, then up to four extents."""

    def words(tables):
        return carray(pointer(_tables_of(_control_of(address_of(tables)))), (at + 5,), np.int64)

    words = kernel(words)
    if dimensions == 1:

        def read(tables):
            w = words(tables)
            return carray(pointer(w[at]), (w[at + 1],), dtype)
    elif dimensions == 2:

        def read(tables):
            w = words(tables)
            return carray(pointer(w[at]), (w[at + 1], w[at + 2]), dtype)
    elif dimensions == 3:

        def read(tables):
            w = words(tables)
            return carray(pointer(w[at]), (w[at + 1], w[at + 2], w[at + 3]), dtype)
    else:

        def read(tables):
            w = words(tables)
            return carray(pointer(w[at]), (w[at + 1], w[at + 2], w[at + 3], w[at + 4]), dtype)

    return read


# -- emission ----------------------------------------------------------------------------------------


def _handlers_only(sim, word: str) -> None:
    if sim.spec.outputs:
        raise TypingError(f"sim.{word}: outputs are functions of the boundary; only handlers may use it")


def kind_number(kind):
    """A kind, an integer or a member of an IntEnum, as an int64."""
    return int(kind)


@overload(kind_number)
def _kind_number(kind):
    if isinstance(kind, types.IntEnumMember):
        return lambda kind: np.int64(kind.value)
    return lambda kind: np.int64(kind)


@kernel
def emit_checked(worker, target, delay, kind, payload, words):
    """Emit an event with a payload tuple, padded with zeros to the record's width."""
    slot = open_event(worker, target, delay, kind)
    if slot < 0:
        raise RuntimeError(STOPPED)  # so that a handler that loops until it has emitted ends, too
    record = worker.pool + np.int64(slot) * HEADER_BYTES + PAYLOAD_OFFSET
    row = carray(pointer(record), (words,), np.float64)
    given = len(payload)
    for k in range(given):
        row[k] = payload[k]
    for k in range(given, words):
        row[k] = 0.0
    send_event(worker, target, slot)


@overload_method(SimType, "emit")
def _emit(sim, target, delay, kind, *payload):
    _handlers_only(sim, "emit")
    words = sim.spec.event["payload"].shape[0]
    given = payload[0] if len(payload) == 1 and isinstance(payload[0], types.BaseTuple) else payload
    if len(given) > words:
        raise TypingError(f"sim.emit: {len(given)} payload words, but the model's payload holds {words}")
    count = len(given)

    if count == 0:

        def emit(sim, target, delay, kind, *payload):
            worker = worker_at(address_of(sim))
            slot = open_event(worker, np.int64(target), np.float64(delay), kind_number(kind))
            if slot < 0:
                raise RuntimeError(STOPPED)
            record = worker.pool + np.int64(slot) * HEADER_BYTES + PAYLOAD_OFFSET
            carray(pointer(record), (words,), np.float64)[:] = 0.0
            send_event(worker, np.int64(target), slot)
    else:

        def emit(sim, target, delay, kind, *payload):
            worker = worker_at(address_of(sim))
            values = _as_floats(payload)
            emit_checked(worker, np.int64(target), np.float64(delay), kind_number(kind), values, words)

    return emit


@intrinsic
def _as_floats(typingctx, payload):
    """A tuple of numbers as a tuple of float64."""
    result = types.UniTuple(types.float64, len(payload))

    def codegen(context, builder, sig, args):
        elements = [
            context.cast(builder, builder.extract_value(args[0], k), payload[k], types.float64)
            for k in range(len(payload))
        ]
        return context.make_tuple(builder, result, elements)

    return result(payload), codegen


# -- the entity's random stream ------------------------------------------------------------------------


@kernel
def next_bits(worker):
    """The next 64 random bits of the executing entity (rng.py)."""
    queue = carray(pointer(worker.leq), (worker.n_entities,), LEQ)[worker.me]
    z = queue.stream + queue.gamma
    queue.stream = z
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def next_random(worker):
    """Uniform on [0, 1)."""
    return np.float64(next_bits(worker) >> np.uint64(11)) * TO_UNIT


@overload_method(SimType, "random")
def _random(sim):
    _handlers_only(sim, "random")
    return lambda sim: next_random(worker_at(address_of(sim)))


@overload_method(SimType, "exponential")
def _exponential(sim, mean=1.0):
    _handlers_only(sim, "exponential")
    return lambda sim, mean=1.0: -math.log(1.0 - next_random(worker_at(address_of(sim)))) * mean


@overload_method(SimType, "normal")
def _normal(sim, mean=0.0, std=1.0):
    _handlers_only(sim, "normal")

    def normal(sim, mean=0.0, std=1.0):
        worker = worker_at(address_of(sim))
        radius = math.sqrt(-2.0 * math.log(1.0 - next_random(worker)))
        return mean + std * (radius * math.cos(2.0 * math.pi * next_random(worker)))

    return normal


@overload_method(SimType, "integers")
def _integers(sim, n):
    _handlers_only(sim, "integers")
    return lambda sim, n: np.int64(next_random(worker_at(address_of(sim))) * n)


# -- the world at the last boundary ----------------------------------------------------------------------


compiled_cell, compiled_image = kernel(clamped_cell), kernel(nearest_image)


def _need_grid(sim, word: str) -> int:
    if not sim.spec.dimensions:
        raise TypingError(f"sim.{word}: the model declares no grid")
    return sim.spec.dimensions


@kernel
def cells_at(control):
    """The grid's geometry, of the control record at an address."""
    return Cells(
        _nx_of(control),
        _ny_of(control),
        _nz_of(control),
        _inverse_x_of(control),
        _inverse_y_of(control),
        _inverse_z_of(control),
        _low_x_of(control),
        _low_y_of(control),
        _low_z_of(control),
        _period_x_of(control),
        _period_y_of(control),
        _period_z_of(control),
    )


@kernel
def index_at(control):
    """The grid's arrays, of the control record at an address: starts, order, rank, x, y, z."""
    return (
        carray(pointer(_starts_of(control)), (UNBOUNDED,), np.int64),
        carray(pointer(_order_of(control)), (UNBOUNDED,), np.int32),
        carray(pointer(_rank_of(control)), (UNBOUNDED,), np.int32),
        carray(pointer(_x_of(control)), (UNBOUNDED,), np.float64),
        carray(pointer(_y_of(control)), (UNBOUNDED,), np.float64),
        carray(pointer(_z_of(control)), (UNBOUNDED,), np.float64),
    )


@overload_method(SimType, "view")
def _view(sim, j):
    if not sim.spec.public.names:
        raise TypingError("sim.view: the model declares no public fields")
    dtype, ranked = sim.spec.public, sim.spec.dimensions > 0

    def view(sim, j):
        control = _control_of(address_of(sim))
        if not 0 <= j < _n_of(control):
            raise IndexError("sim.view: no such entity")
        rows = carray(pointer(_public_of(control)), (UNBOUNDED,), dtype)
        if ranked:
            return rows[carray(pointer(_rank_of(control)), (UNBOUNDED,), np.int32)[j]]
        return rows[j]

    return view


@overload_method(SimType, "offset")
def _offset(sim, j):
    dimensions = _need_grid(sim, "offset")
    deltas = [kernel(_delta_function(d)) for d in range(dimensions)]
    first, second, third = (deltas + [None] * 2)[:3]
    if dimensions == 1:
        return lambda sim, j: (first(sim, j),)
    if dimensions == 2:
        return lambda sim, j: (first(sim, j), second(sim, j))
    return lambda sim, j: (first(sim, j), second(sim, j), third(sim, j))


def _delta_function(d: int):
    image, axis, period_of = compiled_image, 3 + d, _periods_of[d]

    def delta(sim, j):
        control = _control_of(address_of(sim))
        if not 0 <= j < _n_of(control):
            raise IndexError("sim.offset: no such entity")
        index = index_at(control)
        rank = index[2]
        values = index[axis]
        return image(values[rank[j]] - values[rank[sim.me]], period_of(control))

    return delta


@intrinsic
def _select(typingctx, condition, a, b):
    """`grid_queries.choose`, without a branch."""
    result = typingctx.unify_types(a, b)

    def codegen(context, builder, sig, args):
        values = [context.cast(builder, args[k], sig.args[k], result) for k in (1, 2)]
        return builder.select(args[0], *values)

    return result(types.boolean, result, result), codegen


def compiled_query(function):
    """A query of `grid_queries.py`, compiled."""
    scope = dict(function.__globals__)
    scope.update(clamped_cell=compiled_cell, nearest_image=compiled_image, choose=_select)
    return kernel(types_function(function, scope))


def types_function(function, scope: dict):
    """The same code over other globals."""
    from types import FunctionType

    clone = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    scope.setdefault("__name__", __name__)
    clone.__module__ = __name__
    return clone


@overload_method(SimType, "nearest", prefer_literal=True)
def _nearest(sim, k, radius):
    dimensions = _need_grid(sim, "nearest")
    if not isinstance(k, types.IntegerLiteral) or not 0 <= k.literal_value <= 32:
        raise TypingError("sim.nearest(k, radius): k must be written as a literal integer in 0..32")
    query = compiled_query(nearest_function(dimensions, k.literal_value))

    def nearest(sim, k, radius):
        control = _control_of(address_of(sim))
        starts, order, rank, x, y, z = index_at(control)
        scratch = _near_of(address_of(sim))
        near_q = carray(pointer(scratch), (NEAR_BUFFER,), np.float64)
        near_c = carray(pointer(scratch + 8 * NEAR_BUFFER), (NEAR_BUFFER,), np.int64)
        j = np.int64(rank[sim.me])
        return query(cells_at(control), starts, order, x, y, z, j, np.float64(radius), near_q, near_c)

    return nearest


@overload_method(SimType, "within")
def _within(sim, radius):
    query = compiled_query(within_function(_need_grid(sim, "within")))

    def within(sim, radius):
        control = _control_of(address_of(sim))
        starts, order, rank, x, y, z = index_at(control)
        found = carray(pointer(_found_of(address_of(sim))), (_n_of(control) + 1,), np.int64)
        j = np.int64(rank[sim.me])
        return found[: query(cells_at(control), starts, order, x, y, z, j, np.float64(radius), found)]

    return within
