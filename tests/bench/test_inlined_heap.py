"""The inlined heap runs the very PHOLD that the engine runs: same order, same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seer_env.bench import inlined_heap
from seer_env.bench.inlined_heap import HeapPhold
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine

WORLDS = {
    "delay 0.1 + Exp(0.9)": {"n": 40, "population": 3},
    "no lookahead": {"n": 25, "lookahead": 0.0, "mean": 1.0, "remote": 1.0},
    "self events only": {"n": 10, "population": 2, "remote": 0.0},
    "work": {"n": 12, "work": 50},
    "one event": {"n": 1},
    # every delay is the same: seq alone orders the events of an instant
    "ties": {"n": 30, "population": 1, "lookahead": 0.5, "mean": 0.0},
}


def run_both(world: dict, steps: int = 3):
    model = Phold(**world, dt=4.0)
    engine, heap = make_engine(model, "python"), HeapPhold(model, seed=7)
    engine.reset(7)
    counts = []
    for _ in range(steps):
        engine.step(np.zeros((0, model.action_size)), np.zeros(0, bool))
        counts.append((engine.stats.events, heap.step()))
    return engine, heap, counts


@pytest.mark.parametrize("name", WORLDS)
def test_state_equals_the_python_schedulers(name):
    engine, heap, _ = run_both(WORLDS[name])
    assert heap.state.tobytes() == engine.state.tobytes()


@pytest.mark.parametrize("name", WORLDS)
def test_pending_events_equal_the_python_schedulers(name):
    engine, heap, _ = run_both(WORLDS[name])
    pending = engine.capture().pending
    time, seq, target, kind, payload = heap.heap
    order = np.lexsort((seq, time))
    for field, column in zip(("time", "seq", "target", "kind"), (time, seq, target, kind)):
        np.testing.assert_array_equal(column[order], pending[field], err_msg=field)
    np.testing.assert_array_equal(payload[order], pending["payload"][:, 0])


@pytest.mark.parametrize("name", WORLDS)
def test_windows_hold_equally_many_events(name):
    _, _, counts = run_both(WORLDS[name])
    assert all(ours == theirs for ours, theirs in counts)


def test_windows_split_the_run_without_changing_it():
    whole, halves = HeapPhold(Phold(n=20, dt=8.0), seed=3), HeapPhold(Phold(n=20, dt=4.0), seed=3)
    assert whole.step() == halves.step() + halves.step()
    assert whole.state.tobytes() == halves.state.tobytes()


def test_another_seed_is_another_run():
    runs = [HeapPhold(Phold(n=20, dt=8.0), seed) for seed in (1, 2)]
    for run in runs:
        run.step()
    assert runs[0].state.tobytes() != runs[1].state.tobytes()


def test_the_yardstick_is_short_enough_to_have_been_written_in_an_afternoon():
    assert len(Path(inlined_heap.__file__).read_text(encoding="utf-8").splitlines()) < 80
