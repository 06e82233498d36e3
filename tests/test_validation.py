"""A declaration that cannot work is refused before anything is compiled, with attribute, value and fix."""

from __future__ import annotations

import copy
from enum import Enum, IntEnum

import numpy as np
import pytest
from gymnasium import spaces
from worlds import Ring

from seer_env.errors import ModelError
from seer_env.model import EventModel, Grid, handles
from seer_env.runtime.layout import MAX_ENTITIES


class Gap(IntEnum):
    A = 0
    C = 2


class FromOne(IntEnum):
    A = 1
    B = 2
    C = 3


class Short(IntEnum):
    PUSH = 0
    PASS = 1


class Long(IntEnum):
    PUSH = 0
    PASS = 1
    DRIFT = 2
    UNHANDLED = 3


class Words(Enum):
    A = "a"


#: Attributes to set on a valid model, and what the message must say: attribute, value, fix.
BROKEN = [
    ({"name": ""}, ["name", "''", "letters, digits and underscores"]),
    ({"name": "two words"}, ["name", "'two words'", "letters, digits and underscores"]),
    ({"name": None}, ["name", "None", "letters"]),
    ({"agent_prefix": "9th"}, ["agent_prefix", "'9th'", "letters"]),
    ({"agent_prefix": "a-b"}, ["agent_prefix", "'a-b'", "letters"]),
    ({"Kind": Words}, ["Ring.Kind", "Words", "IntEnum"]),
    ({"Kind": 3}, ["Ring.Kind", "3", "IntEnum"]),
    ({"Kind": Gap}, ["Ring.Kind", "[0, 2]", "without gaps"]),
    ({"Kind": FromOne}, ["Ring.Kind", "[1, 2, 3]", "0..K-1"]),
    ({"Kind": Long}, ["UNHANDLED", "no handler", "@handles(Long."]),
    ({"Kind": Short}, ["handlers", "[2]", "Short"]),
    ({"action_kind": 7}, ["action_kind", "7", "RingKind"]),
    ({"entity": np.dtype("f8")}, ["entity", "float64", "structured"]),
    ({"entity": [("x", "f8")]}, ["entity", "[('x', 'f8')]", "structured"]),
    ({"entity": np.dtype([("x", "f4")])}, ["entity.x", "float32", "float64"]),
    ({"entity": np.dtype([("x", "c16")])}, ["entity.x", "complex128", "use one of"]),
    ({"entity": np.dtype([("x", "O")])}, ["entity.x", "object", "use one of"]),
    ({"entity": np.dtype([("x", ">f8")])}, ["entity.x", ">f8", "use one of"]),
    ({"entity": np.dtype([("x", "f8"), ("v", "f4", (3,))])}, ["entity.v", "float32", "float64"]),
    ({"info": np.dtype([("seen", "f8", (1, 1, 1, 1, 2))])}, ["info.seen", "4 dimensions"]),
    ({"entity": np.dtype([("up", "?"), ("x", "f8")], align=True)}, ["entity.x", "gaps", "align=True"]),
    ({"entity": np.dtype([("x", "f8"), ("up", "?")], align=True)}, ["7 bytes behind", "align=True"]),
    ({"entity": np.dtype([("x", "i4")])}, ["entity.x", "int32", "int64"]),
    ({"info": np.dtype([("seen", "U4")])}, ["info.seen", "U4", "use one of"]),
    ({"n_entities": 0}, ["n_entities", "got 0", f"1..{MAX_ENTITIES}"]),
    ({"n_entities": MAX_ENTITIES + 1}, ["n_entities", str(MAX_ENTITIES + 1), f"1..{MAX_ENTITIES}"]),
    ({"n_agents": -1}, ["n_agents", "got -1", "0..n_entities=8"]),
    ({"n_agents": 9}, ["n_agents", "got 9", "0..n_entities=8"]),
    ({"lookahead": -0.5}, ["lookahead", "-0.5", "from 0 up"]),
    ({"lookahead": np.nan}, ["lookahead", "nan", "finite"]),
    ({"lookahead": np.inf}, ["lookahead", "inf", "finite"]),
    ({"dt": 0.0}, ["dt", "got 0.0", "above 0"]),
    ({"dt": np.inf}, ["dt", "inf", "finite"]),
    ({"dt": "1"}, ["dt", "'1'", "finite number"]),
    ({"dt": 1e300}, ["dt", "1e+300", "at most 1e+100"]),
    ({"lookahead": None}, ["lookahead", "None", "finite number"]),
    ({"payload": -1}, ["payload", "-1", "from 0 to 64"]),
    ({"payload": 65}, ["payload", "65", "from 0 to 64"]),
    ({"payload": 4.0}, ["payload", "4.0", "an integer"]),
    ({"public": ("x", "speed")}, ["public", "['speed']", "entity"]),
    ({"grid": Grid(("noise",), 1.0, (0.0,), (1.0,))}, ["grid", "'noise'", "public"]),
    ({"public": ("heard",), "grid": Grid(("heard",), 1.0, (0.0,), (1.0,))}, ["grid", "'heard'", "float64"]),
    ({"observation_space": spaces.Discrete(3)}, ["observation_space", "Discrete(3)", "1-D float32 Box"]),
    (
        {"observation_space": spaces.Box(0.0, 1.0, (2,), np.float64)},
        ["observation_space", "float64", "1-D float32 Box"],
    ),
    ({"observation_space": spaces.Box(0.0, 1.0, (2, 2))}, ["observation_space", "(2, 2)", "1-D float32 Box"]),
    ({"observation_space": None}, ["observation_space", "None", "1-D float32 Box"]),
    ({"action_space": spaces.Box(0.0, 1.0, (2, 2))}, ["action_space", "(2, 2)", "1-D Box"]),
    (
        {"action_space": spaces.MultiBinary(3)},
        ["action_space", "MultiBinary(3)", "Discrete or MultiDiscrete"],
    ),
    ({"params": {"gain": "much"}}, ["params['gain']", "'much'", "number"]),
    ({"params": {"two words": 1}}, ["params['two words']", "identifier"]),
    ({"params": {"gain": np.zeros(3)}}, ["params['gain']", "number"]),
    ({"tables": {"weight": np.array(["a"])}}, ["tables['weight']", "<U1", "numeric"]),
    ({"tables": {"weight": np.array(3.0)}}, ["tables['weight']", "()", "array"]),
    ({"tables": {"two words": np.zeros(2)}}, ["tables['two words']"]),
]


def ring(**attributes):
    model = copy.copy(Ring())
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def test_the_valid_model_is_valid():
    ring().validate()


@pytest.mark.parametrize(("attributes", "words"), BROKEN, ids=lambda v: "+".join(v))
def test_a_refusal_names_attribute_value_and_fix(attributes, words):
    with pytest.raises(ModelError) as info:
        ring(**attributes).validate()
    for word in words:
        assert word in str(info.value)


@pytest.mark.parametrize(
    "attributes",
    [
        {"lookahead": 0.0},
        {"payload": 64},
        {"payload": 0},
        {"n_agents": 0},
        {"n_agents": 8},
        {"public": ()},
        {"action_space": spaces.MultiDiscrete([2, 3])},
        {"action_space": spaces.Discrete(2)},
        {"action_kind": None},
        {"entity": np.dtype([("x", "f8"), ("v", "i8", (3, 2)), ("b", "?")])},
        {"tables": {}},
        {"params": {"flag": True, "count": np.int64(3), "share": np.float32(0.5)}},
    ],
    ids=lambda v: "+".join(v),
)
def test_what_the_declaration_allows_is_not_refused(attributes):
    ring(**attributes).validate()


def test_a_model_error_is_a_value_error():
    assert issubclass(ModelError, ValueError)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((), 1.0, (), ()), ["Grid.fields", "one to three"]),
        ((("x", "y", "z", "w"), 1.0, (0.0,) * 4, (1.0,) * 4), ["Grid.fields", "one to three", "'w'"]),
        ((("x", "y"), 1.0, (0.0,), (1.0, 1.0)), ["same length"]),
        ((("x",), 0.0, (0.0,), (1.0,)), ["Grid.cell must be a finite number above 0, got 0.0"]),
        ((("x",), np.nan, (0.0,), (1.0,)), ["Grid.cell must be a finite number above 0, got nan"]),
        ((("x",), "1", (0.0,), (1.0,)), ["Grid.cell must be a finite number above 0, got '1'"]),
        (
            (("x",), 1.0, (-1e308,), (1e308,)),
            ["Grid.low must be a number of at most 1e+12 in size, got -1e+308"],
        ),
        ((("x",), 1.0, (0.0,), (None,)), ["Grid.high must be a finite number, got None"]),
        ((("x",), 1.0, (1.0,), (1.0,)), ["every low must be below its high", "(1.0,)"]),
        ((("x",), 1.0, (2.0,), (1.0,)), ["every low must be below its high", "(2.0,)"]),
    ],
)
def test_an_impossible_grid_is_refused_where_it_is_declared(arguments, words):
    with pytest.raises(ModelError) as info:
        Grid(*arguments)
    for word in words:
        assert word in str(info.value)


@pytest.mark.parametrize("names", [["a"] * 8, [f"a_{i}" for i in range(7)]])
def test_agent_names_must_be_one_per_agent(names):
    class Named(Ring):
        agent_names = names

    with pytest.raises(ModelError, match="agent_names must be n_agents=8 different names"):
        Named(8).validate()


def test_a_model_without_reset_says_so():
    class Idle(EventModel):
        Kind = Short
        entity = np.dtype([("x", "f8")])
        observation_space = spaces.Box(0.0, 1.0, (1,))

        @handles(Short.PUSH)
        def push(me, event, sim):
            me.x = 0.0

    with pytest.raises(ModelError, match=r"Idle must define reset\(self, state, schedule, rng\)"):
        Idle(2).reset(np.zeros(2), lambda *_: None, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("attribute", "fix"),
    [
        ("Kind", "declare an IntEnum of the kinds of event"),
        ("entity", "declare the dtype of an entity's row"),
        ("observation_space", "declare one agent's 1-D float32 Box"),
    ],
)
def test_a_class_that_does_not_declare_what_it_must_says_so(attribute, fix):
    declared = {"Kind": Ring.Kind, "entity": Ring.entity, "observation_space": Ring.observation_space}
    del declared[attribute]
    model = type("Bare", (EventModel,), declared)(2)
    with pytest.raises(ModelError, match=rf"^Bare has no {attribute}: {fix}"):
        model.validate()


def test_a_model_whose_init_leaves_out_the_base_class_says_so():
    class Orphan(Ring):
        def __init__(self):
            self.size = 3

    with pytest.raises(ModelError, match=r"^Orphan has no n_entities: call super\(\)\.__init__"):
        Orphan().validate()


def test_a_subclass_inherits_handlers_and_may_replace_one():
    class Other(Ring):
        @handles(Ring.Kind.PASS)
        def passed(me, event, sim):
            me.heard += 2

    assert set(Other.handlers) == {0, 1, 2}
    assert Other.handlers[1] is not Ring.handlers[1]
    assert Other.handlers[2] is Ring.handlers[2]
    Other().validate()


def test_tables_are_copies_that_cannot_be_written():
    given = np.zeros(3)
    model = EventModel(2, tables={"t": given})
    given[0] = 1.0
    assert model.tables["t"][0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.tables["t"][0] = 2.0
