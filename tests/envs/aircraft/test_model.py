"""The world's rules under the oracle scheduler."""

import math

import numpy as np
import pytest

from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.aircraft.traffic import close_pairs, draw_routes, regions_per_side
from seer_env.errors import ModelError
from seer_env.runtime.engine import make_engine


def run(steps=8, seed=0, n=12, **world):
    """Random actions on a small dense world; the engine at the end, and the outputs on the way."""
    model = Aircraft(n, **{"per_region": n, **world})
    engine, rng, live, outputs = make_engine(model, "python"), np.random.default_rng(1), np.ones(n, bool), []
    outputs.append(engine.reset(seed))
    for _ in range(steps):
        outputs.append(engine.step(rng.uniform(-1, 1, (n, 3)), live))
        live = live & ~outputs[-1].terminated
    return engine, outputs


@pytest.mark.parametrize("world", [{}, {"communication": False}, {"complexity": 1, "neighbours": 2}])
def test_observations_and_reward_terms(world):
    _, outputs = run(**world)
    for out in outputs:
        assert out.observations.dtype == np.float32
        assert np.isfinite(out.observations).all()
        assert np.abs(out.observations).max() <= 1.0
    terms = sum(outputs[-1].info[name] for name in ("progress", "separation", "alerts", "effort"))
    assert outputs[-1].rewards == pytest.approx(terms)


def test_same_seed_same_world_and_other_seed_another():
    digests = [run(seed=seed)[0].digest() for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_complexity_changes_what_is_predicted():
    a, b = run(complexity=1)[0].state, run(complexity=16)[0].state
    assert (a["near_ratio"] != b["near_ratio"]).any()
    assert (a["x"] == b["x"]).all() or (a["advisory"] != b["advisory"]).any()


def head_on(n=2, gap=40_000.0, **world):
    """Two aircraft on one line, level, 200 m/s each, towards each other."""
    from seer_env.envs.aircraft.tracks import Routes

    half = 1.5e5
    x = np.array([-half, half, half, -half])
    level, flat = np.full(4, 1e4), np.zeros(4)
    routes = Routes(np.array([0, 2, 4]), x, flat, level, np.array([0.0, 1500, 0, 1500]))
    model = Aircraft(n, routes=routes, wind=0.0, per_region=n, **world)
    engine = make_engine(model, "python")
    engine.reset(0)
    boundary = engine.capture()
    first = np.where(boundary.state["heading"] == 0.0, -gap / 2, gap / 2)
    boundary.state["x"] = first
    engine.restore(boundary, engine.outputs)
    return engine


STRAIGHT = np.zeros((2, 3))


def fly(engine, steps):
    live = np.ones(engine.model.n_agents, bool)
    for _ in range(steps):
        outputs = engine.step(np.zeros((engine.model.n_agents, 3)), live)
        live &= ~outputs.terminated
        yield outputs


@pytest.mark.parametrize("communication", [True, False])
def test_neighbours_hear_of_each_other_with_the_closed_form_time_to_conflict(communication):
    engine = head_on(gap=60_000.0, communication=communication, complexity=1)
    next(fly(engine, 1))
    assert engine.state["near_id"][:, 0].tolist() == [1, 0]
    expected = (60_000 - engine.model.params["separation_h"]) / 400
    assert engine.state["near_urgency"][:, 0] == pytest.approx([expected] * 2)


@pytest.mark.parametrize("communication", [True, False])
def test_loss_of_separation_sends_one_up_and_one_down(communication):
    engine = head_on(gap=9_000.0, communication=communication)
    for _ in fly(engine, 2):
        pass
    assert sorted(engine.state["advisory"].tolist()) == [-1.0, 1.0]
    assert (engine.state["climb"] * engine.state["advisory"] > 0).all()


@pytest.mark.parametrize(("margin", "cost"), [(1.0, 0.0), (1.25, 1.0)])
def test_a_margin_makes_aircraft_pay_outside_the_minima(margin, cost):
    """10 km apart: outside 5 NM (9.26 km), inside 1.25 times that."""
    engine = head_on(gap=1_000.0, separation_margin=margin)
    boundary = engine.capture()
    boundary.state["y"] = [0.0, 10_000.0]
    engine.restore(boundary, engine.outputs)
    info = next(fly(engine, 1)).info
    assert info["losses"].tolist() == [0, 0]
    assert info["separation"].tolist() == [-cost, -cost]


def test_a_collision_ends_both_flights_and_costs():
    engine = head_on(gap=1_500.0, advisory_climb=0.0)
    outputs = list(fly(engine, 2))
    assert outputs[0].terminated.all()
    assert outputs[0].info["collided"].tolist() == [1, 1]
    assert (outputs[0].rewards < -5).all()
    assert (engine.state["active"] == 0).all()


def test_without_communication_no_event_crosses_between_entities():
    engine, _ = run(communication=False)
    assert engine.model.lookahead == engine.model.dt
    assert set(engine.capture().pending["kind"]) <= {Aircraft.Kind.TICK}


def test_range_bounds_who_is_heard():
    engine = head_on(gap=80_000.0)
    next(fly(engine, 1))
    assert (engine.state["near_id"] == -1).all()


def test_a_crowded_channel_is_time_shared():
    model = Aircraft(30, per_region=30, receivers=4, wind=0.0)
    engine = make_engine(model, "python")
    engine.reset(0)
    counts = []
    for _ in range(6):
        engine.step(np.zeros((30, 3)), np.ones(30, bool))
        counts.append(engine.stats.events)
    assert max(counts) <= 30 * (1 + 5 + 4) + 60


def test_more_aircraft_than_routes_are_mirrored_and_shifted_copies():
    chosen = draw_routes(2500, 1000, 600, 2000.0, np.random.default_rng(0))
    first = chosen[:600]
    assert (first["mirror_x"] == 1).all()
    assert len(np.unique(first["route"])) == 600
    assert set(np.unique(chosen["mirror_x"])) == {-1.0, 1.0}
    assert regions_per_side(2500, 600) == 3
    assert np.abs(chosen["shift_z"]).max() <= 305


def test_aircraft_start_separated():
    model = Aircraft(300)
    engine = make_engine(model, "python")
    engine.reset(0)
    xyz = np.stack([engine.state[a] for a in "xyz"], axis=1)
    assert len(close_pairs(xyz, model.params["separation_h"], model.params["separation_v"])) == 0


def test_close_pairs_are_those_of_the_double_loop():
    xyz = np.random.default_rng(0).uniform(0, 1, (120, 3)) * (5e4, 5e4, 2e3)
    expected = [
        (i, j)
        for i in range(120)
        for j in range(i + 1, 120)
        if math.hypot(*(xyz[j] - xyz[i])[:2]) < 9260 and abs(xyz[j, 2] - xyz[i, 2]) < 304.8
    ]
    assert close_pairs(xyz, 9260.0, 304.8).tolist() == [list(pair) for pair in expected]


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"n_agents": 0}, "n_agents must be an integer from 1 up, got 0"),
        ({"complexity": 1.5}, "complexity must be an integer from 1 to .* got 1.5"),
        ({"link_delay": 4.6}, "link_delay=4.6"),
        ({"neighbours": 40}, "neighbours must be an integer from 1 to 32, got 40"),
        ({"warp": 9.0}, "unknown parameters \\['warp'\\]"),
        ({"min_speed": 500.0}, "min_speed=500.0"),
        ({"w_effort": math.nan}, "w_effort must be a finite number from 0 up, got nan"),
        ({"range": "far"}, "range must be a finite number above 0, got 'far'"),
        ({"wind": math.nan}, "wind must be a finite number, got nan"),
        ({"wind_seed": -1}, "wind_seed must be an integer from 0 up, got -1"),
        ({"jitter": -1.0}, "jitter must be a finite number from 0 up, got -1.0"),
        ({"range": 1e300}, "range must be a number of at most 1e\\+12 in size, got 1e\\+300"),
        ({"separation_h": 1e-9}, "separation_h must be a finite number from 1 up, got 1e-09"),
        ({"separation_margin": 0.9}, "separation_margin=0.9 must be at least 1"),
        ({"ceiling": 0.0}, "ceiling must be a finite number above 0, got 0.0"),
        ({"discrete": "false"}, "discrete must be True or False, got 'false'"),
    ],
)
def test_impossible_worlds_are_refused_by_name(world, message):
    with pytest.raises(ModelError, match=message):
        Aircraft(**world)
