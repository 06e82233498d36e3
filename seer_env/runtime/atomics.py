"""Atomic operations, raw calls and vector scans that numba's API lacks, as LLVM intrinsics.

A spin on a plain array load is hoisted out of the loop by LLVM and hangs for ever, so every word
that crosses threads goes through this module. `load` acquires, `store` releases, and the
read-modify-writes do both; `exchange` and `add` are sequentially consistent, which the sleep
protocol of `waiting.py` needs.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import get_itemsize, populate_array

from seer_env.runtime.layout import UNBOUNDED

I1, I8, I32, I64 = (ir.IntType(b) for b in (1, 8, 32, 64))
F64 = ir.DoubleType()
VOID = ir.VoidType()
#: Entities per block and blocks per super-block: what one vector scan covers.
FANOUT = 64


def _element(context, builder, sig, args):
    """Pointer to `args[0][args[1]]`, unchecked."""
    array = context.make_array(sig.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, sig.args[0], array, [args[1]], wraparound=False)


@intrinsic
def load(typingctx, array, index):
    """`array[index]`, acquiring."""

    def codegen(context, builder, sig, args):
        return builder.load_atomic(
            _element(context, builder, sig, args), "acquire", array.dtype.bitwidth // 8
        )

    return array.dtype(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, value):
    """`array[index] = value`, releasing."""

    def codegen(context, builder, sig, args):
        size = array.dtype.bitwidth // 8
        builder.store_atomic(args[2], _element(context, builder, sig, args), "release", size)
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), codegen


@intrinsic
def compare_and_swap(typingctx, array, index, expected, value):
    """Store `value` if `array[index] == expected`; returns what was there."""

    def codegen(context, builder, sig, args):
        pointer = _element(context, builder, sig, args)
        return builder.extract_value(builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire"), 0)

    return array.dtype(array, types.intp, array.dtype, array.dtype), codegen


def _read_modify_write(operation: str, ordering: str, doc: str):
    def typer(typingctx, array, index, value):
        def codegen(context, builder, sig, args):
            pointer = _element(context, builder, sig, args)
            return builder.atomic_rmw(operation, pointer, args[2], ordering)

        return array.dtype(array, types.intp, array.dtype), codegen

    typer.__doc__ = doc
    return intrinsic(typer)


exchange = _read_modify_write("xchg", "seq_cst", "Replace `array[index]`; returns what was there.")
add = _read_modify_write("add", "seq_cst", "Add to `array[index]`; returns what was there.")
bit_or = _read_modify_write("or", "acq_rel", "Set bits of `array[index]`; returns what was there.")


@intrinsic
def pointer(typingctx, address):
    """An int64 address as a pointer, for `numba.carray`."""

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], I8.as_pointer())

    return types.voidptr(types.int64), codegen


@intrinsic
def record_at(typingctx, address, dtype):
    """The record of a structured dtype at an address."""

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

    return dtype.dtype(types.int64, dtype), codegen


@intrinsic
def array_at(typingctx, address, dtype):
    """A contiguous array from an address on; its length is not known, and nothing checks it.

    `numba.carray` does the same, but is compiled anew for each dtype and shape.
    """
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, sig, args):
        array = context.make_array(array_type)(context, builder)
        itemsize = context.get_constant(types.intp, get_itemsize(context, array_type))
        length = context.get_constant(types.intp, UNBOUNDED)
        data_type = context.get_data_type(array_type.dtype).as_pointer()
        populate_array(
            array,
            data=builder.inttoptr(args[0], data_type),
            shape=[length],
            strides=[itemsize],
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(types.int64, dtype), codegen


def _call_address(context, builder, sig, args):
    """Call the C function at `args[0]` with the other arguments, all int64."""
    function_type = ir.FunctionType(VOID, [I64] * (len(args) - 1))
    builder.call(builder.inttoptr(args[0], function_type.as_pointer()), list(args[1:]))
    return context.get_dummy_value()


@intrinsic
def call2(typingctx, address, a, b):
    """Call the C function at `address` with two int64."""
    return types.void(*[types.int64] * 3), _call_address


@intrinsic
def call3(typingctx, address, a, b, c):
    """Call the C function at `address` with three int64."""
    return types.void(*[types.int64] * 4), _call_address


@intrinsic
def copy_bytes(typingctx, target, source, count):
    """Copy `count` bytes between addresses that do not overlap."""

    def codegen(context, builder, sig, args):
        places = [builder.inttoptr(address, I8.as_pointer()) for address in args[:2]]
        cgutils.raw_memcpy(builder, *places, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Hint that `array[index]` will be read soon."""

    def codegen(context, builder, sig, args):
        target = builder.bitcast(_element(context, builder, sig, args), I8.as_pointer())
        function_type = ir.FunctionType(VOID, [I8.as_pointer(), I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [target, I32(0), I32(3), I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def lowest_bit(typingctx, value):
    """Index of the lowest set bit of a non-zero int64."""

    def codegen(context, builder, sig, args):
        return builder.cttz(args[0], I1(1))

    return types.int64(types.int64), codegen


def _load_vector(context, builder, sig, args):
    vector = ir.VectorType(F64, FANOUT)
    element = builder.bitcast(_element(context, builder, sig, args), vector.as_pointer())
    return builder.load(element, align=8)


@intrinsic
def mask_below(typingctx, array, index, limit):
    """Bit k is set where `array[index + k] < limit`, for k in 0..63 (float64)."""

    def codegen(context, builder, sig, args):
        values = _load_vector(context, builder, sig, args)
        return builder.bitcast(builder.fcmp_ordered("<", values, _splat(builder, args[2])), I64)

    return types.int64(array, types.intp, types.float64), codegen


def _smallest(builder, values):
    """Reduce a vector by halves; `a < b ? a : b` is one instruction on common processors."""
    width = values.type.count
    while width > 1:
        width //= 2
        halves = [
            builder.shuffle_vector(
                values, values, ir.Constant(ir.VectorType(I32, width), list(range(start, start + width)))
            )
            for start in (0, width)
        ]
        values = builder.select(builder.fcmp_ordered("<", *halves), *halves)
    return builder.extract_element(values, I32(0))


def _splat(builder, value):
    first = builder.insert_element(
        ir.Constant(ir.VectorType(value.type, FANOUT), ir.Undefined), value, I32(0)
    )
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(I32, FANOUT), [0] * FANOUT))


@intrinsic
def minimum_of_block(typingctx, array, index):
    """Smallest of `array[index : index + 64]` (float64, no NaN)."""

    def codegen(context, builder, sig, args):
        return _smallest(builder, _load_vector(context, builder, sig, args))

    return types.float64(array, types.intp), codegen


@intrinsic
def minimum_with(typingctx, array, index, lane, value):
    """As `minimum_of_block`, were `value` stored at `array[index + lane]`.

    A vector load soon after a store into it waits until the store has left the core; this one is
    done before the store.
    """

    def codegen(context, builder, sig, args):
        values = _load_vector(context, builder, sig, args)
        lanes = ir.Constant(ir.VectorType(I8, FANOUT), list(range(FANOUT)))
        here = builder.icmp_signed("==", lanes, _splat(builder, builder.trunc(args[2], I8)))
        return _smallest(builder, builder.select(here, _splat(builder, args[3]), values))

    return types.float64(array, types.intp, types.int64, types.float64), codegen
