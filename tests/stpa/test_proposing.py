"""What the predictor proposes, from rehearsed steps of an env or of copies."""

from __future__ import annotations

import pytest
from worlds import Ring

from seer_env.copies import Copies
from seer_env.env import SeerParallelEnv
from seer_env.stpa import proposing
from seer_env.stpa.predictor import Prediction
from seer_env.stpa.proposing import predicted
from seer_env.stpa.rehearsal import Rehearsal
from seer_env.stpa.report import Proposal

RULE = Proposal(4, "rule", "from sizes")


def propose(monkeypatch, prediction: Prediction, made=None) -> tuple[Proposal, list]:
    """What is proposed where the predictor says `prediction`, and what it was asked."""
    asked = []

    def predict(trace, static):
        asked.append((trace, static))
        return prediction

    monkeypatch.setattr(proposing, "predict", predict)
    if made is None:
        made = SeerParallelEnv(Ring(40, 30), threads=2)
        made.reset(seed=0)
        live = made.live
    else:
        made.reset_arrays(seed=0)
        live = made.live
    rehearsal = Rehearsal(made._engine, made._reader, live, made.info_arrays)
    rehearsal.step(2)
    copies = getattr(made, "_copies", 1)
    found = predicted(
        made.model, copies, made._engine, lambda: rehearsal.step(2), (1, 2, 3, 4, 6, 8), RULE, 0.01
    )
    return found, asked


@pytest.mark.parametrize(("says", "rung"), [(1.0, 1), (1.3, 1), (1.5, 2), (4.8, 4), (5.2, 6), (30.0, 8)])
def test_the_nearest_rung_is_proposed(monkeypatch, says, rung):
    found, _ = propose(monkeypatch, Prediction(says, says, says, trusted=True))
    assert (found.threads, found.source) == (rung, "predictor")
    assert found.favoured == says


def test_what_is_not_trusted_is_said_and_the_rule_taken(monkeypatch):
    found, _ = propose(monkeypatch, Prediction(2.0, 1.0, 3.0, trusted=False))
    assert (found.threads, found.source) == (4, "rule")
    assert found.favoured == 1.0, "ties go to fewer threads"
    assert "the predictor says 2.0 (1.0 to 3.0)" in found.note
    assert "from sizes" in found.note


def test_the_predictor_sees_a_trace_and_the_world(monkeypatch):
    _, [(trace, static)] = propose(monkeypatch, Prediction(2.0, 2.0, 2.0, trusted=True))
    assert trace.ndim == 3
    assert (static.entities, static.agents, static.trace_threads) == (70.0, 40.0, 2.0)
    # Every entity has its next drift pending; there are pushes and passes under way beside.
    assert static.queued >= 1.0


def test_copies_are_one_world_to_the_predictor(monkeypatch):
    copies = Copies(Ring(12, 6), 5, threads=2)
    _, [(_, static)] = propose(monkeypatch, Prediction(2.0, 2.0, 2.0, trusted=True), copies)
    assert (static.entities, static.agents) == (90.0, 60.0)
    assert static.queued >= 1.0


def test_the_shipped_predictor_answers(monkeypatch):
    env = SeerParallelEnv(Ring(40, 30), threads=2)
    env.reset(seed=0)
    rehearsal = Rehearsal(env._engine, env._reader, env.live, None)
    rehearsal.step(2)
    found = predicted(env.model, 1, env._engine, lambda: rehearsal.step(2), (1, 2), RULE, 0.01)
    assert found.source in ("predictor", "rule")
    assert "the predictor says" in found.note
