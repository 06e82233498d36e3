"""The tutorial's world of events: against theory, under every scheduler, and its length."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from runtime_worlds import share_everything

from seer_env.envs import epidemic_v0
from seer_env.envs.epidemic_v0 import DELAY, Epidemic, Kind
from seer_env.errors import ModelError
from seer_env.runtime.engine import make_engine

FOR_EVER = 1e9  # days


class Begun(Epidemic):
    """An epidemic whose first patients a test chooses."""

    def __init__(self, first, **world):
        super().__init__(patients=len(first), **world)
        self.first = first

    def reset(self, state, schedule, rng):
        schedule(self.first, 0.0, Kind.CATCH)


def complete_graph(n):
    """Everybody knows everybody."""
    return np.stack(np.triu_indices(n, 1), axis=1)


def lines(count, length):
    """Edges of chains of people, one behind the other in the numbering."""
    people = np.arange(count * length).reshape(count, length)
    return np.stack([people[:, :-1].ravel(), people[:, 1:].ravel()], axis=1)


def lived(model, seed=0, distance=0.0, steps=100, scheduler="serial", threads=1):
    """The engine after some days on which everybody keeps the same distance."""
    engine = make_engine(model, scheduler, threads)
    engine.reset(seed)
    for _ in range(steps):
        engine.step(np.full((model.n_agents, 1), distance), np.ones(model.n_agents, bool))
    return engine


def final_size(reproduction, at_first):
    """Share of people who are ever ill, in the limit of many: r = 1 - (1 - at_first) exp(-R0 r).

    Kermack and McKendrick, A contribution to the mathematical theory of epidemics (1927).
    """
    share = 1.0
    for _ in range(200):
        share = 1.0 - (1.0 - at_first) * math.exp(-reproduction * share)
    return share


@pytest.mark.parametrize(("reproduction", "distance"), [(2.0, 0.0), (4.0, 0.5), (1.4, 0.0), (2.0, 0.75)])
def test_the_final_size_where_everybody_knows_everybody_is_that_of_kermack_and_mckendrick(
    reproduction, distance
):
    people, patients, illness = 400, 20, 1.0
    # Meetings per illness with anyone: (n - 1) * illness / gap, of which a share is avoided.
    gap = (people - 1) * illness / reproduction
    model = Epidemic(people, patients, gap, illness, complete_graph(people))
    sizes = []
    for seed in range(20):
        engine = lived(model, seed, distance, steps=60)
        assert (engine.state["well_at"] <= engine.clock).all()  # it is over
        sizes.append(np.mean(engine.state["well_at"] > 0.0))
    expected = final_size(reproduction * (1.0 - distance), patients / people)
    assert np.mean(sizes) == pytest.approx(expected, abs=4 * np.std(sizes) / math.sqrt(len(sizes)))
    assert np.mean(sizes) == pytest.approx(expected, abs=0.05)


def test_the_mean_time_along_a_line_is_the_sum_of_the_means():
    count, length, gap, dt = 500, 9, 1.5, 0.25
    model = Begun(length * np.arange(count), n_agents=count * length, gap=gap, illness=FOR_EVER,
                  edges=lines(count, length))  # fmt: skip
    model.dt = dt
    engine = make_engine(model, "serial")
    engine.reset(0)
    ill_at = np.full(model.n_agents, np.nan)
    while np.isnan(ill_at).any():
        engine.step(np.zeros((model.n_agents, 1)), np.ones(model.n_agents, bool))
        fresh = np.isnan(ill_at) & (engine.state["well_at"] > 0.0)
        ill_at[fresh] = engine.clock - dt / 2  # some time within the step
    hops = np.arange(length)
    mean = ill_at.reshape(count, length).mean(axis=0)
    error = gap * np.sqrt(hops / count)  # a sum of `hops` exponentials, `count` times
    assert (np.abs(mean - hops * (DELAY + gap)) < 4 * error + dt / 2 + 1e-9).all()


def test_nobody_catches_it_sooner_than_it_travels():
    model = Begun([0], n_agents=200, gap=0.01, illness=FOR_EVER, edges=lines(1, 200))
    for days in (1, 2, 5):
        ill = lived(model, steps=days).state["well_at"] > 0.0
        assert np.count_nonzero(ill) <= days / DELAY


def test_who_avoids_all_meetings_catches_nothing():
    engine = lived(Begun([3], n_agents=300), distance=1.0)
    assert np.flatnonzero(engine.state["well_at"]).tolist() == [3]


def test_neighbours_hear_of_an_illness_and_of_its_end():
    model = Begun([1], n_agents=4, gap=FOR_EVER, illness=50.0, edges=np.array([[0, 1], [1, 2], [2, 3]]))
    engine = make_engine(model, "python")
    engine.reset(0)
    while engine.clock < 2 * 50.0:
        outputs = engine.step(np.zeros((4, 1)), np.ones(4, bool))
        ill = engine.state["well_at"][1] > engine.clock - DELAY  # as word of it has it
        assert outputs.observations[:, 2].tolist() == [ill, 0.0, ill, 0.0]
    assert engine.state["well_at"][1] < engine.clock


def test_the_space_of_observations_ends_where_all_neighbours_are_ill():
    model = Begun([0, 1, 2, 3], n_agents=4, illness=FOR_EVER, edges=complete_graph(4))
    shown = lived(model, steps=1).outputs.observations
    assert model.observation_space.low.tolist() == [0.0, 0.0, 0.0]
    assert (shown == model.observation_space.high).all()


def test_an_observation_tells_who_is_ill_and_who_was():
    engine = lived(Epidemic(300), steps=20)
    well_at, shown = engine.state["well_at"], engine.outputs.observations
    assert (shown[:, 0] == (well_at > engine.clock)).all()
    assert (shown[:, 1] == (well_at > 0.0)).all()
    assert 0 < shown[:, 0].sum() < shown[:, 1].sum()


def test_the_reward_is_the_price_of_distance_and_of_illness():
    engine = lived(Begun([0], n_agents=2, gap=FOR_EVER, illness=FOR_EVER), distance=0.5, steps=1)
    assert engine.outputs.rewards == pytest.approx([-1.1, -0.1])


@pytest.mark.parametrize(
    ("scheduler", "threads"),
    [("serial", 1), ("heap", 1), *(("seer", threads) for threads in (1, 2, 3, 4, 8))],
)
def test_every_scheduler_and_thread_count_gives_the_oracles_bytes(oracle, scheduler, threads):
    assert wandered(scheduler, threads) == oracle


@pytest.fixture(scope="module")
def oracle():
    return wandered("python", 1)


def wandered(scheduler, threads):
    """Digests of every day of an epidemic under random distances, every phase shared among threads."""
    engine, rng = make_engine(Epidemic(300), scheduler, threads), np.random.default_rng(2)
    if scheduler == "seer":
        share_everything(engine)
    engine.reset(1)
    digests = []
    for _ in range(15):
        engine.step(rng.uniform(0.0, 0.5, (300, 1)), np.ones(300, bool))
        digests.append(engine.digest())
    return digests


@pytest.mark.parametrize("edges", [None, np.array([(0, 0), (0, 1), (2, 2), (1, 0)])])
def test_nobody_is_a_neighbour_of_their_own(edges):
    model = Epidemic(40, edges=edges)
    person = np.repeat(np.arange(40), np.diff(model.tables["start"]))
    assert len(person) == len(model.tables["neighbour"]) > 0
    assert (person != model.tables["neighbour"]).all()


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"n_agents": 0}, "n_agents must be an integer from 1 up, got 0"),
        ({"patients": 501}, "patients must be an integer from 0 to 500, got 501"),
        ({"patients": 2.5}, "patients must be an integer from 0 to 500, got 2.5"),
        ({"gap": 0.0}, "gap must be a finite number above 0, got 0.0"),
        ({"illness": "long"}, "illness must be a finite number above 0, got 'long'"),
        ({"illness": 1e300}, r"illness must be a number of at most 1e\+12 in size"),
        ({"edges": [[0, 500]]}, "edges must be from 0 to 499, got 0 to 500"),
        ({"edges": [[0.0, 1.0]]}, r"edges must be integers of shape \[E, 2\], got float64"),
        ({"edges": [0, 1]}, r"edges must be integers of shape \[E, 2\], got int64 of shape \(2,\)"),
    ],
)
def test_impossible_worlds_are_refused_by_name(world, message):
    with pytest.raises(ModelError, match=message):
        Epidemic(**world)


def test_the_tutorial_world_is_some_60_lines():
    assert len(Path(epidemic_v0.__file__).read_text(encoding="utf-8").splitlines()) < 65
