"""Info dicts: numbers as Python numbers, subarrays (such as action masks) as arrays of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from seer_env.infos import InfoDicts

MASKED = np.dtype([("score", "f8"), ("action_mask", "i1", (3,))])


def test_without_a_record_every_dict_is_empty_and_its_own():
    first, second = InfoDicts(None)(None, 2)
    assert first == second == {}
    assert first is not second


def test_numbers_are_python_numbers():
    dtype = np.dtype([("a", "f8"), ("b", "i4"), ("c", "b1")])
    (info,) = InfoDicts(dtype)(np.array([(0.5, 2, True)], dtype), 1)
    assert info == {"a": 0.5, "b": 2, "c": True}
    assert [type(v) for v in info.values()] == [float, int, bool]


def test_an_action_mask_is_an_int8_array_of_its_agent_alone():
    records = np.array([(1.0, (1, 0, 1)), (2.0, (0, 1, 1))], MASKED)
    first, second = InfoDicts(MASKED)(records, 2)
    assert first["action_mask"].dtype == np.int8
    assert first["action_mask"].tolist() == [1, 0, 1]
    assert not np.shares_memory(first["action_mask"], second["action_mask"])
    assert not np.shares_memory(first["action_mask"], records)


@pytest.mark.parametrize("name", ["a b", "it's", 'say "x"', "lambda", "{v0}", "näme"])
def test_any_field_name_is_a_key(name):
    dtype = np.dtype([(name, "f8")])
    assert InfoDicts(dtype)(np.array([(3.0,)], dtype), 1) == [{name: 3.0}]


def test_it_survives_pickle():
    dicts = pickle.loads(pickle.dumps(InfoDicts(MASKED)))
    assert dicts(np.zeros(1, MASKED), 1)[0]["score"] == 0.0
