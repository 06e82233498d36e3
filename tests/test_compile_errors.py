"""What a function of a model cannot do is said in a line about the model, not in numba's words."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Ring

from seer_env.errors import ModelError
from seer_env.model import handles, output
from seer_env.runtime.engine import make_engine


def refusal(**members) -> ModelError:
    """What compiling a Ring with these members raises."""
    model = type("Mine", (Ring,), members)()
    with pytest.raises(ModelError) as raised:
        make_engine(model, "serial")
    return raised.value


def of_handler(function, **members) -> str:
    return str(refusal(push=handles(Ring.action_kind)(function), **members))


def views(me, event, sim):
    me.x = sim.view(0).x


def seeks(me, event, sim):
    me.x = sim.nearest(2, 1.0)[0]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (views, "sim.view: the model declares no public fields: name some in `public`"),
        (seeks, "sim.nearest: the model declares no grid: set `grid` to a Grid"),
    ],
)
def test_a_word_that_the_model_lacks_is_said_in_a_line_behind_the_function(function, sentence):
    line = function.__code__.co_firstlineno
    assert (
        of_handler(function, public=(), grid=None) == f"{function.__name__} ({__file__}:{line}): {sentence}"
    )


def test_numbas_text_does_not_stand_before_what_says_the_same():
    assert refusal(push=handles(Ring.action_kind)(views), public=(), grid=None).__cause__ is None


def misses_entity(me, event, sim):
    me.y += 1.0


def misses_stored(me, event, sim):
    me.y = 1.0


def misses_event(me, event, sim):
    me.x = event.load


def misses_view(me, event, sim):
    me.x = sim.view(0).noise


def misses_params(me, event, sim):
    me.x = sim.params.load


def misses_tables(me, event, sim):
    me.x = sim.tables.load_of_nobody[0]


def misses_sim(me, event, sim):
    me.x = sim.load


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (misses_entity, "the entity has no field 'y'; it has x, heard, noise, up: declare it in `entity`"),
        (misses_stored, "the entity has no field 'y'; it has x, heard, noise, up: declare it in `entity`"),
        (
            misses_event,
            "the event has no field 'load'; it has time, kind, target, payload: an emission's words arrive "
            "in event.payload",
        ),
        (misses_view, "a row of sim.view has no field 'noise'; it has x: name it in `public`"),
        (misses_params, "sim.params has no field 'load'; it has patience, gain: declare it in `params`"),
        (misses_tables, "sim.tables has no field 'load_of_nobody'; it has weight: declare it in `tables`"),
        (misses_sim, "there is no sim.load: the words of sim are in help('seer_env.model')"),
    ],
)
def test_a_field_that_a_record_lacks_is_said_with_those_it_has(function, sentence):
    assert of_handler(function).endswith(f": {sentence}")


@pytest.mark.parametrize(("info", "fields"), [(None, "none"), (np.dtype([("seen", "f8")]), "seen")])
def test_a_field_that_info_lacks_is_said_of_the_function_that_was_refused(info, fields):
    def observe(me, obs, info, sim):
        info.unseen = 1.0

    place = f"{observe.__qualname__} ({__file__}:{observe.__code__.co_firstlineno})"
    sentence = f"info has no field 'unseen'; it has {fields}: declare it in `info`"
    assert str(refusal(observe=staticmethod(observe), info=info)) == f"{place}: {sentence}"


def test_what_has_no_sentence_of_ours_keeps_numbas_without_the_type_of_sim():
    def emits(me, event, sim):
        sim.emit(sim.me, 0.5, 1, "a")  # a line that numba quotes, and begins with a word of sim

    text = of_handler(emits)
    assert text.startswith("numba cannot compile ")
    assert "TypingError" in text
    assert "SimSpec" not in text


@pytest.mark.parametrize("scheduler", ["serial", "python"])
def test_an_index_beyond_the_observation_is_named_with_its_space(scheduler):
    class Mine(Ring):
        @output
        def observe(me, obs, info, sim):
            obs[7] = 1.0

    place = f"{Mine.observe.__qualname__} ({__file__}:{Mine.observe.__code__.co_firstlineno})"
    with pytest.raises(ModelError) as raised:
        make_engine(Mine(), scheduler).reset(0)
    assert str(raised.value) == (
        f"{place}: index 7 is out of bounds for axis 0 with size 4. obs has indices 0..3: observation_space "
        f"is {Ring.observation_space}; make it as large as what is written"
    )


@pytest.mark.parametrize("scheduler", ["serial", "python"])
def test_an_index_beyond_another_array_in_observe_arrives_as_it_was_raised(scheduler):
    class Mine(Ring):
        @output
        def observe(me, obs, info, sim):
            obs[0] = sim.tables.weight[sim.n_entities]

    with pytest.raises(IndexError, match="index 8 is out of bounds for axis 0 with size 8"):
        make_engine(Mine(), scheduler).reset(0)


def text(me, info, sim):
    return "a"


def forgets(me, info, sim):
    me.x *= 2.0


@pytest.mark.parametrize(
    ("function", "scheduler", "got"),
    [
        (text, "serial", "a str"),
        (text, "python", "'a'"),
        (forgets, "serial", "None: return one on every path"),
        (forgets, "python", "None"),
    ],
)
def test_a_reward_that_is_no_number_is_named(function, scheduler, got):
    class Mine(Ring):
        reward = staticmethod(function)

    with pytest.raises(ModelError) as raised:
        make_engine(Mine(), scheduler).reset(0)
    place = f"{function.__name__} ({__file__}:{function.__code__.co_firstlineno})"
    assert str(raised.value) == f"{place}: a reward must be a number, and this is {got}"
