"""What a function of a model cannot do is said in a line about the model, not in numba's words."""

from __future__ import annotations

import pytest
from worlds import Ring

from seer_env.errors import ModelError
from seer_env.model import handles
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
    assert refusal(push=handles(Ring.action_kind)(views), public=(), grid=None).__suppress_context__
