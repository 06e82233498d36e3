"""Memory of large arrays is used again when nobody holds them, and not before."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from seer_env import make
from seer_env.runtime.buffers import LARGE, MOST_KEPT, Buffers

ROWS = LARGE // 8


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_of_an_array_that_is_gone_is_used_again():
    buffers = Buffers()
    memory = id(buffers.empty(ROWS, np.float64).base)
    assert id(buffers.empty((2, ROWS // 2), np.float64).base) == memory


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array,
        lambda array: array[3:][1:, None],
        lambda array: array.view(np.uint64).reshape(2, -1).T,
        memoryview,
        lambda array: np.frombuffer(memoryview(array), np.int32),
    ],
    ids=["itself", "slices", "view", "memoryview", "frombuffer"],
)
def test_who_holds_a_view_keeps_the_memory(view):
    buffers = Buffers()
    array = buffers.zeros(ROWS, np.float64)
    at, held = address(array), view(array)
    del array
    other = buffers.empty(ROWS, np.float64)
    other.fill(1.0)
    assert address(other) != at
    assert not np.asarray(held).any()


def test_a_tensor_keeps_the_memory():
    torch = pytest.importorskip("torch")
    buffers = Buffers()
    array = buffers.zeros(ROWS, np.float64)
    tensor = torch.from_numpy(array)[5:]
    del array
    buffers.empty(ROWS, np.float64).fill(1.0)
    assert not tensor.any()


def test_zeros_are_zeros_in_used_memory():
    record = np.dtype([("count", np.int64), ("mask", np.int8, 3)])
    buffers = Buffers()
    buffers.empty(LARGE, record).view(np.uint8).fill(255)
    assert not buffers.zeros(LARGE, record).view(np.uint8).any()


def test_small_arrays_own_their_memory():
    assert Buffers().empty(8, np.float64).flags.owndata


def test_arrays_kept_for_long_do_not_end_reuse():
    buffers = Buffers()
    held = [buffers.empty(ROWS, np.float64) for _ in range(2 * MOST_KEPT)]
    memories = [id(buffers.empty(ROWS, np.float64).base) for _ in range(5)]
    assert len(set(memories)) == 1
    assert memories[0] not in [id(array.base) for array in held]


def test_memory_that_is_forgotten_is_not_used_again():
    buffers = Buffers()
    array = buffers.empty(ROWS, np.float64)
    memory = weakref.ref(array.base)
    del array
    assert memory() is not None
    buffers.forget()
    assert memory() is None


@pytest.mark.parametrize("scheduler", ["serial", "python"])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_closed_engine_keeps_no_memory(scheduler, copies):
    env = make("flock_v0", n_agents=3000, scheduler=scheduler, **({} if copies == 1 else {"copies": copies}))
    env.reset_arrays(1)
    engine = env._engine
    env.close()
    assert not engine._buffers._kept


def test_arrays_without_rows_or_columns_can_be_had():
    assert Buffers().zeros((7, 0), np.float32).shape == (7, 0)


@pytest.mark.parametrize("scheduler", ["serial", "python"])
def test_observations_that_are_kept_do_not_change_with_later_steps(scheduler):
    env = make("flock_v0", n_agents=3000, scheduler=scheduler)
    first = env.reset_arrays(seed=1)
    kept = [first]
    copies = [first.copy()]
    for _ in range(4):
        observations = env.step_arrays(np.zeros((3000, env.model.action_size))).observations
        kept.append(observations)
        copies.append(observations.copy())
    assert observations.nbytes >= LARGE
    for array, copy in zip(kept, copies):
        np.testing.assert_array_equal(array, copy)


def test_steps_whose_observations_nobody_keeps_use_the_same_memory():
    env = make("flock_v0", n_agents=3000, scheduler="serial")
    env.reset_arrays(seed=1)
    addresses = {
        address(env.step_arrays(np.zeros((3000, env.model.action_size))).observations) for _ in range(12)
    }
    assert len(addresses) <= 3
