"""Reading actions: what is accepted, what is clipped, and errors that name agent, value and space."""

from __future__ import annotations

import re
from collections import OrderedDict

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from worlds import Lamps, Ring

from seer_env.actions import ActionError, ActionReader
from seer_env.env import SeerParallelEnv
from seer_env.roster import Roster

NAMES = ["node_0", "node_1", "node_2"]


def reader_of(space, strict=False, n_agents=3):
    model = Ring(n_agents)
    model.action_space = space
    return ActionReader(model, strict)


def roster_of(*live):
    return Roster(NAMES, np.array(live or (True, True, True)))


BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
ONE = spaces.Box(0.0, 1.0, (1,), np.float32)
UNEVEN = spaces.Box(np.array([-1, 0], "f4"), np.array([1, 5], "f4"))
OPEN = spaces.Box(-np.inf, np.inf, (2,), np.float64)
HALF = spaces.Box(np.array([0, -np.inf], "f4"), np.array([np.inf, np.inf], "f4"))
FIVE = spaces.Discrete(5)
SHIFTED = spaces.Discrete(3, start=-1)
MULTI = spaces.MultiDiscrete([2, 3])


def by_name(*values):
    return dict(zip(NAMES, values))


def test_masked_samples_are_uniform_over_what_the_masks_allow():
    reader = reader_of(SHIFTED, n_agents=3000)
    masks = np.tile(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]], np.int8), (1000, 1))
    chosen = reader.sample_masked(np.random.default_rng(0), masks).reshape(1000, 3)
    assert (chosen[:, 1:] == [0, 1]).all()
    assert set(chosen[:, 0]) == {-1, 1}
    assert abs(chosen[:, 0].mean()) < 4 / np.sqrt(1000)  # four standard errors of a fair coin


# -- accepted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [BOX, UNEVEN, OPEN, HALF, FIVE, SHIFTED, MULTI])
def test_what_a_space_samples_arrives_as_it_is(space):
    samples = [space.sample() for _ in NAMES]
    block = reader_of(space).from_dict(by_name(*samples), roster_of())
    assert (block.dtype, block.shape) == (np.float64, (3, reader_of(space)._size))
    assert (block == np.array(samples, np.float64).reshape(block.shape)).all()


@pytest.mark.parametrize("make", [int, np.int8, np.uint64, np.int64, np.array, np.float32, float])
def test_a_discrete_action_may_be_any_whole_scalar(make):
    block = reader_of(FIVE).from_dict(by_name(make(0), make(4), make(2)), roster_of())
    assert block.tolist() == [[0.0], [4.0], [2.0]]


def test_discrete_actions_of_mixed_types_are_accepted():
    block = reader_of(FIVE).from_dict(by_name(1, np.array(2), np.int32(3)), roster_of())
    assert block.tolist() == [[1.0], [2.0], [3.0]]


def test_continuous_actions_of_mixed_types_are_accepted():
    block = reader_of(BOX).from_dict(by_name([0, 1], (0.5, 0.25), np.array([1, -1], "f2")), roster_of())
    assert block.tolist() == [[0.0, 1.0], [0.5, 0.25], [1.0, -1.0]]


@pytest.mark.parametrize(
    "actions",
    [[0.25, 0.5, 0.75], [np.array(0.25), np.array(0.5), np.array(0.75)], [[0.25], 0.5, np.float32(0.75)]],
    ids=["numbers", "arrays", "mixed"],
)
def test_an_action_of_one_number_needs_no_dimension(actions):
    block = reader_of(ONE).from_dict(by_name(*actions), roster_of())
    assert block.tolist() == [[0.25], [0.5], [0.75]]


def test_the_order_of_the_dict_does_not_matter():
    block = reader_of(FIVE).from_dict({"node_2": 2, "node_0": 0, "node_1": 1}, roster_of())
    assert block.tolist() == [[0.0], [1.0], [2.0]]


def test_any_mapping_is_accepted():
    block = reader_of(FIVE).from_dict(OrderedDict(by_name(0, 1, 2)), roster_of())
    assert block.tolist() == [[0.0], [1.0], [2.0]]


def test_rows_of_agents_not_live_are_zeros_whatever_is_sent():
    roster = roster_of(True, False, True)
    reader = reader_of(FIVE)
    assert reader.from_dict({"node_0": 1, "node_2": 2}, roster).tolist() == [[1.0], [0.0], [2.0]]
    assert reader.from_dict(by_name(1, "junk", 2), roster).tolist() == [[1.0], [0.0], [2.0]]
    assert reader.from_array([1, np.nan, 2], roster).tolist() == [[1.0], [0.0], [2.0]]


def test_nobody_live_needs_no_action():
    assert reader_of(BOX).from_dict({}, roster_of(False, False, False)).tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("actions", [[0, 1, 2], np.array([[0], [1], [2]]), np.array([0.0, 1.0, 2.0], "f4")])
def test_arrays_of_one_number_per_agent_may_have_one_or_two_axes(actions):
    assert reader_of(FIVE).from_array(actions, roster_of()).tolist() == [[0.0], [1.0], [2.0]]


# -- clipped -----------------------------------------------------------------------------------------


def test_a_finite_action_outside_its_box_is_clipped_to_it():
    block = reader_of(UNEVEN).from_dict(by_name([-9, 9], [9, -9], [0.5, 4]), roster_of())
    assert block.tolist() == [[-1.0, 5.0], [1.0, 0.0], [0.5, 4.0]]


def test_clipping_knows_half_open_boxes():
    assert reader_of(HALF).from_array(np.full((3, 2), -7.0), roster_of()).tolist() == [[0.0, -7.0]] * 3


def test_clipping_uses_the_bounds_of_the_space_for_a_live_subset():
    block = reader_of(UNEVEN).from_dict({"node_2": [9, 9]}, roster_of(False, False, True))
    assert block.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 5.0]]


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)), min_size=3, max_size=3))
def test_clipped_actions_are_numpys_clip(rows):
    block = reader_of(UNEVEN).from_array(np.array(rows), roster_of())
    assert (block == np.clip(np.array(rows), UNEVEN.low, UNEVEN.high)).all()


def test_strict_refuses_what_would_be_clipped():
    with pytest.raises(ActionError, match=r"'node_1' is \[0.0, 2.0\].*outside its box.*Box"):
        reader_of(BOX, strict=True).from_dict(by_name([0, 0], [0, 2], [0, 0]), roster_of())


def test_strict_accepts_the_bounds_themselves():
    assert reader_of(BOX, strict=True).from_array(np.ones((3, 2)), roster_of()).tolist() == [[1.0, 1.0]] * 3


# -- refused -----------------------------------------------------------------------------------------

REFUSED = [
    (BOX, [np.nan, 0.0], "not finite"),
    (BOX, [0.0, np.inf], "not finite"),
    (BOX, [0.0, -np.inf], "not finite"),
    (OPEN, [np.inf, 0.0], "not finite"),
    (BOX, 0.5, r"shape \(\)"),
    (ONE, [0.5, 0.5], r"shape \(2,\)"),
    (ONE, [[0.5]], r"shape \(1, 1\)"),
    (BOX, [0.5], r"shape \(1,\)"),
    (BOX, [[0.5, 0.5]], r"shape \(1, 2\)"),
    (BOX, [0.1, 0.2, 0.3], r"shape \(3,\)"),
    (BOX, [0.1, [0.2]], "not an array"),
    (BOX, None, "not a number"),
    (BOX, "up", "not a number"),
    (BOX, ["0.5", "0.5"], "not a number"),
    (BOX, [1j, 0], "not a number"),
    (FIVE, 5, "not a whole number in range"),
    (FIVE, -1, "not a whole number in range"),
    (FIVE, 1.5, "not a whole number in range"),
    (FIVE, 1e-200, "not a whole number in range"),
    (FIVE, float("nan"), "not a whole number in range"),
    (FIVE, float("inf"), "not a whole number in range"),
    (FIVE, 2**70, "not a number"),
    (FIVE, [1], r"shape \(1,\)"),
    (FIVE, None, "not a number"),
    (SHIFTED, 2, "not a whole number in range"),
    (MULTI, [0, 3], "not a whole number in range"),
    (MULTI, 1, r"shape \(\)"),
]


@pytest.mark.parametrize(("space", "bad", "why"), REFUSED)
def test_a_refused_action_names_agent_and_space(space, bad, why):
    good = space.sample()
    with pytest.raises(ActionError, match=why) as caught:
        reader_of(space).from_dict(by_name(good, bad, good), roster_of())
    assert "'node_1'" in str(caught.value)
    assert str(space) in str(caught.value)


def test_every_action_wrong_in_the_same_way_is_refused_too():
    with pytest.raises(ActionError, match=r"'node_0'.*shape \(1,\)"):
        reader_of(FIVE).from_dict(by_name([1], [1], [1]), roster_of())


def test_shapes_whose_total_is_right_are_refused():
    with pytest.raises(ActionError, match=r"'node_0'.*shape \(1,\)"):
        reader_of(BOX).from_dict(by_name([0.0], [0.0, 0.0, 0.0], [0.0, 0.0]), roster_of())


def test_the_message_shows_the_value():
    with pytest.raises(ActionError, match=re.escape("'node_2' is 7.0")):
        reader_of(FIVE).from_dict(by_name(0, 1, 7), roster_of())


def test_the_agent_is_named_when_others_are_dead():
    with pytest.raises(ActionError, match="'node_2'"):
        reader_of(FIVE).from_dict({"node_1": 1, "node_2": 9}, roster_of(False, True, True))


def test_a_missing_action_names_the_agent():
    with pytest.raises(ActionError, match=r"no action for the live agent 'node_1'.*Discrete"):
        reader_of(FIVE).from_dict({"node_0": 0, "node_2": 0}, roster_of())


def test_an_unknown_agent_is_named_with_its_value():
    with pytest.raises(ActionError, match=r"action 3 for unknown agent 'node_9'.*Discrete"):
        reader_of(FIVE).from_dict({**by_name(0, 0, 0), "node_9": 3}, roster_of())


def test_no_mapping_is_an_error():
    with pytest.raises(ActionError, match="must be a dict"):
        reader_of(FIVE).from_dict([0, 0, 0], roster_of())


class Attached:
    """Like a tensor that requires grad."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("use detach()")

    def __repr__(self):
        return "Attached()"


def test_an_action_that_refuses_to_be_an_array_names_its_agent():
    with pytest.raises(ActionError, match=r"'node_1' is Attached\(\).*use detach\(\)"):
        reader_of(BOX).from_dict(by_name([0, 0], Attached(), [0, 0]), roster_of())


@pytest.mark.parametrize("actions", [Attached(), [[0, 0], [0, 0], [0]]])
def test_what_is_no_array_is_an_error(actions):
    with pytest.raises(ActionError, match=r"array of numbers for Box"):
        reader_of(BOX).from_array(actions, roster_of())


@pytest.mark.parametrize("shape", [(2,), (6,), (3, 3), (2, 2), (1, 3, 2)])
def test_an_array_of_another_shape_is_an_error(shape):
    with pytest.raises(ActionError, match=re.escape(f"(3, 2) for {BOX}, got {shape}")):
        reader_of(BOX).from_array(np.zeros(shape), roster_of())


def test_an_array_row_names_its_agent():
    with pytest.raises(ActionError, match=r"'node_1' is \[nan, 0.0\]"):
        reader_of(BOX).from_array([[0, 0], [np.nan, 0], [np.nan, 0]], roster_of())


@pytest.mark.parametrize(
    ("model", "actions"),
    [
        (Lamps(3), {"lamp_0": 1, "lamp_1": 1, "lamp_2": 5}),
        (Lamps(3), {"lamp_0": 1, "lamp_1": 1}),
        (Lamps(3), {"lamp_0": 1, "lamp_1": 1, "lamp_2": 1, "sun_0": 1}),
        (Ring(1), {"node_0": [np.nan, 0.0]}),
    ],
)
def test_a_refused_action_changes_nothing(model, actions):
    env = SeerParallelEnv(model, scheduler="python")
    env.reset(seed=0)
    digest = env.digest()
    with pytest.raises(ActionError):
        env.step(actions)
    assert env.digest() == digest
    assert env.agents == env.possible_agents


# -- samples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [BOX, UNEVEN, OPEN, HALF, FIVE, SHIFTED, MULTI])
def test_samples_are_legal(space):
    reader = reader_of(space, strict=True)
    rng = np.random.default_rng(0)
    for _ in range(50):
        reader.from_array(reader.sample(rng), roster_of())


def test_samples_reach_every_discrete_action():
    reader, rng = reader_of(SHIFTED), np.random.default_rng(0)
    assert {v for _ in range(50) for v in reader.sample(rng).ravel()} == {-1.0, 0.0, 1.0}
