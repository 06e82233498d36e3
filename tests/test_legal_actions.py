"""The compiled pass over actions, against the same rules said with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seer_env.legal_actions import CLIP, PLAIN, STRICT, WHOLE, legalise

AGENTS, SIZE = 5, 2
LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 3.0])
NUMBERS = st.sampled_from([-7.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 3.0, 9.0, np.nan, np.inf, -np.inf])


def legal_numbers(values: np.ndarray, rule: int) -> np.ndarray:
    """Which numbers a rule admits, bool as `values`."""
    inside = (values >= LOW) & (values <= HIGH)
    return {
        WHOLE: inside & (values == np.rint(values)),
        STRICT: inside,
        CLIP: np.isfinite(values),
        PLAIN: np.isfinite(values),
    }[rule]


@pytest.mark.parametrize("rule", [WHOLE, STRICT, CLIP, PLAIN])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("packed", [False, True])
@settings(deadline=None)  # the first example compiles
@given(block=arrays(np.float64, (AGENTS, SIZE), elements=NUMBERS), live=arrays(bool, AGENTS))
def test_the_pass_agrees_with_numpy(rule, dtype, packed, block, live):
    rows = np.flatnonzero(live) if packed else np.arange(AGENTS)
    values, counts = block[rows].astype(dtype), live[rows]
    legal = np.full((AGENTS, SIZE), 7.0)
    first = legalise(values, live, LOW, HIGH, rule, legal)
    wrong = np.flatnonzero(counts & ~legal_numbers(values, rule).all(axis=1))
    assert first == (wrong[0] if wrong.size else -1)
    if not wrong.size:
        expected = np.zeros((AGENTS, SIZE))
        expected[live] = values[counts] if rule == PLAIN else np.clip(values[counts], LOW, HIGH)
        assert np.array_equal(legal, expected)
