"""`sim` in compiled handlers and outputs: a numba type that holds the address of its worker.

Its words are in the docstring of `seer_env.model`, and in plain Python in `runtime/schedulers/python_sim.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload_attribute, register_model
from numba.np.arrayobj import populate_array

from seer_env.runtime.atomics import I64, record_at
from seer_env.runtime.layout import CONTROL, WORKER, event_dtype
from seer_env.runtime.leq import kernel

_CONTROL_OFFSET = WORKER.fields["control"][1]  # type: ignore[index]  # a structured dtype
_TABLES_OFFSET = CONTROL.fields["tables"][1]  # type: ignore[index]  # as above


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
    label: str = ""  # of the model's machine code, see `user_code.UserFunctions`

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


class ReadOnlyRecord(types.Record):
    """A record that handlers may read: the event, public fields of others, parameters.

    `pipeline.py` refuses stores into it. Handlers write their own row only.
    """

    def __init__(self, record: types.Record):
        fields = [(name, entry._asdict()) for name, entry in record.fields.items()]
        super().__init__(fields, record.size, record.aligned)
        self.name: str = f"ReadOnly({record.name})"

    def typeof(self, key):
        """Fields that are arrays are read-only too, and so are their slices."""
        field = super().typeof(key)
        if isinstance(field, types.NestedArray):
            return ReadOnlyNestedArray(field.dtype, field.shape)
        return field


class ReadOnlyNestedArray(types.NestedArray):
    """An array inside a `ReadOnlyRecord`; numba refuses stores into it."""

    def __init__(self, dtype, shape):
        super().__init__(dtype, shape)
        self.mutable = False
        self.name: str = f"ReadOnly({self.name})"


register_model(ReadOnlyRecord)(models.RecordModel)
register_model(ReadOnlyNestedArray)(models.NestedArrayModel)


@intrinsic
def read_only(typingctx, record):
    """The same record, which handlers cannot write."""
    return ReadOnlyRecord(record)(record), _identity


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
    return record_at(address, WORKER)


@kernel
def control_at(address):
    """The control record at an address."""
    return record_at(address, CONTROL)


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
            return fixed_word(builder, args[0], offset + 8 * element, lowered)

        return result(types.int64), codegen

    read.__name__ = f"read_{name}_{element}"
    return intrinsic(read)


control_of = fixed_field(WORKER, "control")
n_of, agents_of = fixed_field(CONTROL, "n_entities"), fixed_field(CONTROL, "n_agents")
params_of = fixed_field(CONTROL, "params")


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
    return lambda sim: n_of(control_of(address_of(sim)))


@overload_attribute(SimType, "n_agents")
def _n_agents(sim):
    return lambda sim: agents_of(control_of(address_of(sim)))


@overload_attribute(SimType, "params")
def _params(sim):
    dtype = sim.spec.params

    def params(sim):
        return read_only(record_at(params_of(control_of(address_of(sim))), dtype))

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
        return _table_reader(row, dtype, dimensions)

    overload_attribute(TablesType, name)(table)


def _table_reader(row: int, dtype: np.dtype, dimensions: int):
    """Reads `sim.tables.<name>` from its row of the descriptor: address, then up to four extents."""
    array_type = types.Array(from_dtype(dtype), dimensions, "C", readonly=True)

    def read(typingctx, tables):
        def codegen(context, builder, sig, args):
            control = fixed_word(builder, args[0], _CONTROL_OFFSET)
            place = builder.add(fixed_word(builder, control, _TABLES_OFFSET), I64(row * 40))
            address, *shape = (fixed_word(builder, place, 8 * k) for k in range(1 + dimensions))
            itemsize = I64(dtype.itemsize)
            strides = [itemsize]
            for extent in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], extent))
            array = context.make_array(array_type)(context, builder)
            data = builder.inttoptr(address, context.get_data_type(array_type.dtype).as_pointer())
            populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
            return array._getvalue()

        return array_type(tables), codegen

    reader = intrinsic(read)
    return lambda tables: reader(tables)


def fixed_word(builder, address, offset: int, lowered=I64):
    """LLVM: the 8-byte word at `address + offset`, which does not change while handlers run."""
    place = builder.add(address, I64(offset))
    value = builder.load(builder.inttoptr(place, lowered.as_pointer()), align=8)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
