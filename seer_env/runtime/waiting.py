"""How an idle worker waits for a word to change: spin, then block, and how it is woken.

On Linux a worker blocks on a futex of the word's low half. Elsewhere it yields, with growing
sleeps. `SEER_ENV_WAITING=yield` chooses the second everywhere (tests do).
"""

from __future__ import annotations

import os
import platform
import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from seer_env.runtime.atomics import I32, I64, VOID, _element

#: Pauses before a worker blocks: long enough to bridge the gap between two phases of a busy step
#: (some tens of microseconds), short enough to leave a contended core early. With more workers than CPUs who
#: spins keeps from its core the one that is waited for.
SPINS, SPINS_CROWDED = 2000, 20
#: A blocked worker looks up this often even if nobody wakes it, milliseconds.
LONGEST_SLEEP_MS = 50

_FUTEX_CALL = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
_MACHINE = platform.machine()
USES_FUTEX = (
    sys.platform == "linux"
    and sys.byteorder == "little"
    and _MACHINE in _FUTEX_CALL
    and os.environ.get("SEER_ENV_WAITING", "futex") != "yield"
)
WAIT_PRIVATE, WAKE_PRIVATE, EVERYBODY = 128, 129, 1 << 30
_PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause", []),
    "AMD64": ("llvm.x86.sse2.pause", []),
    "aarch64": ("llvm.aarch64.hint", [I32(1)]),
    "arm64": ("llvm.aarch64.hint", [I32(1)]),
}
HAS_PAUSE = _MACHINE in _PAUSE and os.environ.get("SEER_ENV_PAUSE", "yes") != "no"


def describe() -> str:
    """The waiting strategy of this platform, for `seer-env doctor`."""
    block = "futex" if USES_FUTEX else "yield and growing sleeps"
    return f"spin ({'pause' if HAS_PAUSE else 'no pause instruction'}), then {block}"


@intrinsic
def pause(typingctx):
    """Tell the core that this is a spin loop; nothing where there is no such instruction."""

    def codegen(context, builder, sig, args):
        if HAS_PAUSE:
            name, arguments = _PAUSE[_MACHINE]
            function_type = ir.FunctionType(VOID, [a.type for a in arguments])
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)
        return context.get_dummy_value()

    return types.void(), codegen


def _futex(builder, word, operation, value, timeout):
    function_type = ir.FunctionType(I64, [I64], var_arg=True)
    function = cgutils.get_or_insert_function(builder.module, function_type, "syscall")
    address = builder.ptrtoint(word, I64)
    builder.call(function, [I64(_FUTEX_CALL[_MACHINE]), address, operation, value, timeout, I64(0), I64(0)])


def _sleep(builder, milliseconds):
    """Yield, and sleep on top of it if `milliseconds` is positive."""
    windows = sys.platform == "win32"
    yield_name, sleep_name, scale = (
        ("SwitchToThread", "Sleep", 1) if windows else ("sched_yield", "usleep", 1000)
    )
    yielding = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, []), yield_name)
    builder.call(yielding, [])
    with builder.if_then(builder.icmp_signed(">", milliseconds, I64(0))):
        sleeping = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, [I32]), sleep_name)
        builder.call(sleeping, [builder.trunc(builder.mul(milliseconds, I64(scale)), I32)])


@intrinsic
def block_while_equal(typingctx, array, index, value, milliseconds):
    """Block at most `milliseconds` (int64) while the low half of `array[index]` is that of `value`.

    May return early. A futex compares under the kernel's lock, so a change made before a wake that
    follows is never missed; the fallback sleeps for the given time at most, and misses nothing
    because its caller reads the word again.
    """

    def codegen(context, builder, sig, args):
        if not USES_FUTEX:
            _sleep(builder, args[3])
            return context.get_dummy_value()
        timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
        nanoseconds = builder.mul(args[3], I64(1_000_000))
        builder.store(I64(0), builder.gep(timespec, [I32(0), I32(0)]))
        builder.store(nanoseconds, builder.gep(timespec, [I32(0), I32(1)]))
        timeout = builder.ptrtoint(timespec, I64)
        _futex(builder, _element(context, builder, sig, args), I64(WAIT_PRIVATE), args[2], timeout)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64, types.int64), codegen


@intrinsic
def wake_all(typingctx, array, index):
    """Wake every worker that blocks on `array[index]`; nothing where nobody can block."""

    def codegen(context, builder, sig, args):
        if USES_FUTEX:
            _futex(builder, _element(context, builder, sig, args), I64(WAKE_PRIVATE), I64(EVERYBODY), I64(0))
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def clock_ns(typingctx):
    """Monotonic time in nanoseconds (int64); milliseconds' resolution on Windows."""

    def codegen(context, builder, sig, args):
        if sys.platform == "win32":
            ticks = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I64, []), "GetTickCount64")
            return builder.mul(builder.call(ticks, []), I64(1_000_000))
        timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
        function_type = ir.FunctionType(I32, [I32, timespec.type])
        function = cgutils.get_or_insert_function(builder.module, function_type, "clock_gettime")
        monotonic = 6 if sys.platform == "darwin" else 1
        builder.call(function, [I32(monotonic), timespec])
        seconds = builder.load(builder.gep(timespec, [I32(0), I32(0)]))
        rest = builder.load(builder.gep(timespec, [I32(0), I32(1)]))
        return builder.add(builder.mul(seconds, I64(1_000_000_000)), rest)

    return types.int64(), codegen
