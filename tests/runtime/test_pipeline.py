"""What a handler may not write is refused: when it is compiled, and by plain Python when it runs."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Ring

from seer_env.errors import ModelError
from seer_env.model import handles
from seer_env.runtime.engine import make_engine


def writes_payload(me, event, sim):
    event.payload[0] = 1.0


def writes_time(me, event, sim):
    event.time = 1.0


def writes_payload_by_another_name(me, event, sim):
    words = event.payload
    words[0] += 1.0


def writes_params(me, event, sim):
    sim.params.patience = 3


def writes_view(me, event, sim):
    sim.view(0).x = 1.0


def writes_view_in_a_function(me, event, sim):
    overwrite(sim.view(0))


def overwrite(row):
    row.x = 1.0


FOREIGN = [
    writes_payload,
    writes_time,
    writes_payload_by_another_name,
    writes_params,
    writes_view,
    writes_view_in_a_function,
]


def world(function):
    class Trespasser(Ring):
        public = ("x",)
        push = handles(Ring.action_kind)(function)

    return Trespasser()


@pytest.mark.parametrize("function", FOREIGN)
def test_a_store_into_what_is_not_ones_own_row_does_not_compile(function):
    with pytest.raises(ModelError, match=r"own row only|readonly"):
        make_engine(world(function), "serial")


@pytest.mark.parametrize("function", FOREIGN)
def test_a_store_into_what_is_not_ones_own_row_raises_in_python_and_changes_nothing(function):
    model = world(function)
    engine = make_engine(model, "python")
    engine.reset(1)
    before = engine.digest()
    with pytest.raises((TypeError, AttributeError, ValueError)):
        engine.step(np.ones((model.n_agents, model.action_size)), np.ones(model.n_agents, bool))
    assert engine.digest() == before


@pytest.mark.parametrize("scheduler", ["python", "serial"])
def test_an_index_beyond_a_field_is_an_error(scheduler):
    def writes_beyond(me, event, sim):
        me.x = event.payload[int(event.payload[0]) + 70]

    model = world(writes_beyond)
    engine = make_engine(model, scheduler)
    engine.reset(1)
    before = engine.digest()
    with pytest.raises(IndexError):
        engine.step(np.ones((model.n_agents, model.action_size)), np.ones(model.n_agents, bool))
    assert engine.digest() == before


def writes_payload_in_a_function(me, event, sim):
    scribble(event.payload)


def scribble(words):
    words[0] = 1.0


def writes_a_slice_of_the_payload(me, event, sim):
    words = event.payload[1:]
    words[0] = 1.0


@pytest.mark.parametrize("function", [writes_payload_in_a_function, writes_a_slice_of_the_payload])
def test_arrays_of_what_is_read_only_are_read_only_wherever_they_go(function):
    with pytest.raises(ModelError, match=r"[Rr]ead-?only"):
        make_engine(world(function), "serial")


def test_a_global_generator_is_refused_with_the_word_to_use():
    def draws(me, event, sim):
        me.x = np.random.random()  # noqa: NPY002 - what must be refused

    with pytest.raises(ModelError, match=r"np\.random\.random.*sim\.random"):
        make_engine(world(draws), "serial")


def test_a_field_that_does_not_exist_is_a_model_error_with_the_place():
    def misspells(me, event, sim):
        me.exx = 1.0

    with pytest.raises(ModelError, match=r"misspells.*test_pipeline\.py"):
        make_engine(world(misspells), "serial")
