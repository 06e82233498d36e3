"""Remembered choices on disk."""

from __future__ import annotations

import json
import os

import pytest

from seer_env.stpa import choices
from seer_env.stpa.choices import Choice, Choices, bucket

ONE = Choice("a", entities=10, event_cost=8, threads=2, step_s=1e-3)
OTHER = Choice("b", entities=12, event_cost=8, threads=1, step_s=2e-3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(choices, "_WARNED", set())
    return tmp_path


def test_nothing_is_remembered_at_first():
    assert Choices("machine", "model").recall("a") is None


def test_what_was_remembered_is_recalled_by_configuration():
    Choices("machine", "model").remember(ONE)
    Choices("machine", "model").remember(OTHER)
    kept = Choices("machine", "model")
    assert (kept.recall("a"), kept.recall("b"), kept.recall("c")) == (ONE, OTHER, None)


def test_a_later_choice_replaces_an_earlier_one():
    kept = Choices("machine", "model")
    kept.remember(ONE)
    later = Choice("a", 10, 9, 1, 3e-3)
    kept.remember(later)
    assert kept.recall("a") == later


@pytest.mark.parametrize("names", [("elsewhere", "model"), ("machine", "other")])
def test_another_machine_or_model_remembers_nothing_of_it(names):
    Choices("machine", "model").remember(ONE)
    assert Choices(*names).recall("a") is None


def test_similar_configurations_are_found_by_their_buckets():
    kept = Choices("machine", "model")
    kept.remember(ONE)
    assert kept.similar(10, 8) == ONE
    assert kept.similar(11, 8) is None
    assert kept.similar(10, 9) is None


def test_buckets_are_powers_of_two():
    assert [bucket(value) for value in (0.5, 1, 2, 4, 1000, 1024, 1448)] == [0, 0, 1, 2, 10, 10, 10]


def test_a_choice_can_be_forgotten():
    kept = Choices("machine", "model")
    kept.remember(ONE)
    kept.remember(OTHER)
    kept.forget("a")
    kept.forget("never chosen")
    assert (kept.recall("a"), kept.recall("b")) == (None, OTHER)


def test_only_the_last_ones_are_kept(monkeypatch):
    monkeypatch.setattr(choices, "KEPT", 3)
    kept = Choices("machine", "model")
    for k in range(5):
        kept.remember(Choice(str(k), 1, 1, 1, 1e-3))
    assert kept.recall("1") is None
    assert all(kept.recall(str(k)) for k in (2, 3, 4))


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\x00",
        b"[]",
        b"3",
        b"{}",
        b'{"format": 1, "choices": 3}',
        b'{"format": 1, "choices": [{"threads": 2}]}',
        json.dumps({"format": 1, "choices": [{**vars(ONE), "threads": 0}]}).encode(),
        json.dumps({"format": 1, "choices": [{**vars(ONE), "threads": "2"}]}).encode(),
        json.dumps({"format": 1, "choices": [{**vars(ONE), "step_s": float("nan")}]}).encode(),
    ],
)
def test_a_damaged_file_is_ignored_with_one_warning(damage, recwarn):
    kept = Choices("machine", "model")
    kept.remember(ONE)
    kept.path.write_bytes(damage)
    assert kept.recall("a") is None
    assert kept.recall("a") is None
    assert [str(w.message) for w in recwarn if "damaged" in str(w.message)] == [str(recwarn[0].message)]
    assert len(recwarn) == 1
    kept.remember(OTHER)
    assert kept.recall("b") == OTHER


def test_a_file_of_another_format_says_nothing():
    kept = Choices("machine", "model")
    kept.remember(ONE)
    kept.path.write_text(json.dumps({"format": 2, "choices": "unknown"}))
    assert kept.recall("a") is None


def test_the_file_is_never_half_written(monkeypatch):
    kept = Choices("machine", "model")
    kept.remember(ONE)
    before = kept.path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="cannot be remembered"):
        kept.remember(OTHER)
    assert kept.path.read_bytes() == before
    assert [file.name for file in kept.path.parent.iterdir()] == [kept.path.name]


def test_a_folder_that_cannot_be_made_is_said_once(folder, recwarn):
    (folder / "threads").write_text("a file where the folder should be")
    kept = Choices("machine", "model")
    assert kept.recall("a") is None
    kept.remember(ONE)
    kept.remember(ONE)
    assert len(recwarn) == 1
