"""`sim.emit` and the entity's random stream: what only handlers may use."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload, overload_method

from seer_env.runtime.atomics import array_at
from seer_env.runtime.leq import HEADER, LEQ, open_event, send_event
from seer_env.runtime.rng import TO_UNIT
from seer_env.runtime.sim_type import SimType, address_of, kernel, worker_at

HEADER_BYTES = HEADER.itemsize
PAYLOAD_OFFSET = HEADER.fields["payload"][1]  # type: ignore[index]  # a structured dtype
STOPPED = "a rule was broken, and the step stops here"


def _handlers_only(sim, word: str) -> None:
    if sim.spec.outputs:
        raise TypingError(f"sim.{word}: outputs are functions of the boundary; only handlers may use it")


# -- emission ----------------------------------------------------------------------------------------


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
    row = array_at(record, np.float64)
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
    # numba hands the star argument over as one tuple, or spread.
    given = payload[0] if len(payload) == 1 and isinstance(payload[0], types.BaseTuple) else payload
    if len(given) > words:
        raise TypingError(f"sim.emit: {len(given)} payload words, but the model's payload holds {words}")

    if len(given) == 0:

        def emit(sim, target, delay, kind, *payload):
            worker = worker_at(address_of(sim))
            slot = open_event(worker, np.int64(target), np.float64(delay), kind_number(kind))
            if slot < 0:
                raise RuntimeError(STOPPED)
            record = worker.pool + np.int64(slot) * HEADER_BYTES + PAYLOAD_OFFSET
            row = array_at(record, np.float64)
            for k in range(words):
                row[k] = 0.0
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
    queue = array_at(worker.leq, LEQ)[worker.me]
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
