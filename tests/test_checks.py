"""Numbers at the border: what is taken, and what the error says."""

import math
from fractions import Fraction

import numpy as np
import pytest

import seer_env
from seer_env.checks import LARGEST, flag, number, pairs, whole
from seer_env.errors import ModelError
from seer_env.registration import registry

NO_INTEGERS = [True, np.True_, "3", b"3", None, 2.0, math.nan, 1j, [1], np.array([1]), 0, -1, 6]
NO_NUMBERS = [True, np.True_, "3", None, math.nan, math.inf, -math.inf, 1j, [1.0], np.array([1.0]), 10**400]


@pytest.mark.parametrize("value", [1, 5, np.int8(3), np.uint64(4), np.array(2)])
def test_integers_of_any_kind_become_an_int(value):
    assert type(whole("size", value, 1, 5)) is int
    assert whole("size", value, 1, 5) == int(value)


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_what_is_no_integer_in_the_range_is_refused_by_name(value):
    with pytest.raises(ModelError) as info:
        whole("size", value, 1, 5)
    assert str(info.value) == f"size must be an integer from 1 to 5, got {value!r}"


def test_the_message_tells_what_else_is_taken():
    with pytest.raises(ValueError, match=r'^threads must be "auto" or an integer from 1 up, got 0$'):
        whole("threads", 0, also='"auto"', error=ValueError)


@pytest.mark.parametrize("value", [0, 2.5, np.float32(0.5), np.int64(3), Fraction(1, 2)])
def test_real_numbers_become_a_float(value):
    assert type(number("load", value, 0.0)) is float
    assert number("load", value, 0.0) == float(value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:9])
def test_what_is_no_finite_number_is_refused_by_name(value):
    with pytest.raises(ModelError) as info:
        number("load", value)
    assert str(info.value) == f"load must be a finite number, got {value!r}"


def test_numbers_out_of_their_range_are_refused():
    with pytest.raises(ModelError, match=r"^load must be a finite number from 0 up, got -0.5$"):
        number("load", -0.5, 0.0)
    with pytest.raises(ModelError, match=r"^load must be a finite number above 0, got 0$"):
        number("load", 0, positive=True)


@pytest.mark.parametrize("value", [1e300, -2e12])
def test_numbers_too_large_to_compute_with_are_refused(value):
    assert number("load", LARGEST) == LARGEST
    with pytest.raises(ModelError) as info:
        number("load", value)
    assert str(info.value) == f"load must be a number of at most 1e+12 in size, got {value!r}"


def test_pairs_of_indices_are_taken_as_an_array():
    assert pairs("edges", [(0, 1), (2, 1)], 3).tolist() == [[0, 1], [2, 1]]
    assert pairs("edges", np.zeros((0, 2), int), 3).shape == (0, 2)


@pytest.mark.parametrize("values", [[], [0, 1], [[0.0, 1.0]], [[0, 1, 2]], [[0, 3]], [[-1, 0]], "ab"])
def test_what_is_no_pair_of_indices_is_refused_by_name(values):
    with pytest.raises(ModelError, match=r"^edges must be (integers of shape \[E, 2\]|from 0 to 2), got"):
        pairs("edges", values, 3)


@pytest.mark.parametrize("value", ["false", 0, None, math.nan])
def test_only_bools_are_flags(value):
    assert flag("warm", np.True_) is True
    with pytest.raises(ModelError) as info:
        flag("warm", value)
    assert str(info.value) == f"warm must be True or False, got {value!r}"


@pytest.mark.parametrize("n_agents", [True, "abc", 0, 2.5, math.nan, 10**30])
@pytest.mark.parametrize("world", sorted(registry))
def test_no_world_is_made_of_an_impossible_number_of_agents(world, n_agents):
    with pytest.raises(ModelError, match=r"^n_agents must be an integer from 1 to"):
        seer_env.make(world, n_agents=n_agents)


@pytest.mark.parametrize("value", [True, 1.5, "3", math.nan])
def test_an_env_refuses_what_is_no_integer(value):
    for name in ("max_cycles", "threads", "event_capacity"):
        with pytest.raises(ValueError, match=rf"^{name} must be .*an integer from 1 "):
            seer_env.make("flock_v0", n_agents=4, scheduler="python", **{name: value})
    with pytest.raises(ValueError, match=r"^seed must be None or an integer from 0 up"):
        seer_env.make("flock_v0", n_agents=4, scheduler="python").reset(seed=value)


@pytest.mark.parametrize("value", ["false", 1, None])
def test_an_env_and_copies_refuse_what_is_no_flag(value):
    for name in ("check", "strict_actions"):
        with pytest.raises(ModelError, match=rf"^{name} must be True or False, got {value!r}"):
            seer_env.make("flock_v0", n_agents=4, scheduler="python", **{name: value})
    with pytest.raises(ModelError, match=r"^strict_actions must be True or False"):
        seer_env.make("flock_v0", n_agents=4, copies=2, scheduler="python", strict_actions=value)
    with pytest.raises(ModelError, match=r"^Grid\.wrap must be True or False"):
        seer_env.Grid(("x",), 1.0, (0.0,), (4.0,), wrap=value)
