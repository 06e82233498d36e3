"""The world's rules under the oracle scheduler."""

import math

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

import seer_env
from seer_env.envs import pcs_v0
from seer_env.envs.pcs.constants import COUNTS, Kind
from seer_env.envs.pcs.model import Pcs
from seer_env.envs.pcs.policies import with_guards
from seer_env.errors import ModelError
from seer_env.runtime.engine import make_engine

SMALL = {"channels": 6, "interarrival": 8.0, "recheck": 20.0, "complexity": 3}


def run(steps=12, seed=0, n=12, scheduler="python", **world):
    """Random actions on a small world; the engine after each step, and its outputs."""
    model = Pcs(n, **{**SMALL, **world})
    engine, rng = make_engine(model, scheduler), np.random.default_rng(1)
    yield engine, engine.reset(seed)
    for _ in range(steps):
        if model.discrete:
            actions = rng.integers(0, model.action_space.nvec, (n, 3)).astype(float)
        else:
            actions = rng.uniform(-1, 1, (n, 3))
        yield engine, engine.step(actions, np.ones(n, bool))


def flying(engine):
    """Handoffs that have left and are not received yet."""
    return int((engine.capture().pending["kind"] == Kind.HANDOFF_RECEIVE).sum())


EVENTFUL = {"link_delay": 5.0, "residence": 20.0, "sir": 0.03, "max_guard": 1}


@pytest.mark.parametrize("world", [{}, {"discrete": True}, {"warm": False}, EVENTFUL])
def test_calls_are_conserved_at_every_boundary(world):
    seen = dict.fromkeys((*COUNTS, "flying"), 0)
    for engine, _ in run(steps=30, **world):
        state = engine.state
        total = {name: int(state[name].sum()) for name in (*COUNTS, "busy")}
        ended = total["completed"] + total["blocked"] + total["dropped"] + total["outages"]
        assert total["arrived"] == ended + total["busy"] + flying(engine)
        assert flying(engine) == total["left"] - total["received"]
        seen = {name: max(total.get(name, flying(engine)), seen[name]) for name in seen}
    assert min(seen.values()) > 0 or world is not EVENTFUL


def test_every_channel_is_free_or_carries_one_call_with_one_event_to_come():
    for engine, _ in run(steps=20, sir=0.2):
        pending = engine.capture().pending
        mine = pending[np.isin(pending["kind"], (Kind.COMPLETION, Kind.HANDOFF_LEAVE))]
        for i, me in enumerate(engine.state):
            used, free = me["in_use"][: me["busy"]], me["in_use"][me["busy"] :]
            assert sorted([*used, *free]) == list(range(6))
            assert (me["in_use"][me["place"]] == np.arange(6)).all()
            assert (me["end"][free] == 0).all()
            assert (me["power"][free] == 0).all()
            events = mine[mine["target"] == i]
            living = {(int(c), end) for c, end in events["payload"][:, :2] if me["end"][int(c)] == end}
            assert living == {(c, me["end"][c]) for c in used}
            assert me["pending"] == (me["bound"] >= 0).sum()
            assert me["transmitted"] == pytest.approx(me["power"].sum())


@pytest.mark.parametrize(
    "world", [{}, {"topology": "square"}, {"communication": False}, {"sir": 0.2}, {"interarrival": 0.5}]
)
def test_observations_and_reward_terms(world):
    for _, out in run(**world):
        assert out.observations.dtype == np.float32
        assert np.isfinite(out.observations).all()
        assert np.abs(out.observations).max() <= 1.0
    terms = sum(out.info[name] for name in ("carried", "blocked", "dropped", "power"))
    assert out.rewards == pytest.approx(terms)
    assert (out.info["carried"] > 0).any()
    assert (out.info["power"] < 0).any()


def test_mean_busy_is_the_integral_over_the_step():
    """One cell without mobility: its calls' starts and ends are all that changes it."""
    model = Pcs(1, channels=3, interarrival=20.0, fading=False, dt=0.5)
    engine = make_engine(model, "python")
    engine.reset(2)
    actions, fine, coarse = np.zeros((1, 3)), [], Pcs(1, channels=3, interarrival=20.0, fading=False, dt=50.0)
    for _ in range(100):
        fine.append(engine.step(actions, np.ones(1, bool)).info["mean_busy"][0])
    whole = make_engine(coarse, "python")
    whole.reset(2)
    assert whole.step(actions, np.ones(1, bool)).info["mean_busy"][0] == pytest.approx(np.mean(fine))
    assert 0 < np.mean(fine) < 3


def test_neighbours_hear_what_a_station_announced_a_link_delay_later():
    model = Pcs(16, **SMALL, topology="square", link_delay=2.0, dt=1.0, warm=True)
    engine = make_engine(model, "python")
    engine.reset(0)
    told = []
    for step in range(6):
        told.append(engine.state["busy"] / 6)
        engine.step(np.zeros((16, 3)), np.ones(16, bool))
        if step >= 2:
            offsets, neighbours = model.topology.offsets, model.topology.neighbours
            heard = engine.state["heard_load"]
            for i in range(16):
                # an announcement at time t - 2 arrives at t, the first instant of the next step
                assert heard[i].tolist() == told[step - 2][neighbours[offsets[i] : offsets[i + 1]]].tolist()


def test_guard_channels_are_kept_for_handoffs():
    model = Pcs(16, channels=10, interarrival=0.5, fading=False, hotspot=0.0, warm=False, mobility=False)
    engine = make_engine(model, "python")
    engine.reset(0)
    actions = with_guards(model, np.full(16, 4)).astype(float)
    for _ in range(20):
        engine.step(actions, np.ones(16, bool))
    assert (engine.state["busy"] <= 6).all()
    assert (engine.state["busy"] == 6).any()


def test_the_admission_threshold_bounds_the_neighbourhoods_load():
    model = Pcs(16, channels=10, interarrival=0.5, fading=False, hotspot=0.0, warm=False, mobility=False)
    engine = make_engine(model, "python")
    engine.reset(0)
    actions = with_guards(model, np.zeros(16)).astype(float)
    actions[:, 2] = -1.0  # new calls are refused above half load
    for _ in range(60):
        engine.step(actions, np.ones(16, bool))
    assert engine.state["busy"].mean() < 7.0
    assert engine.state["blocked"].sum() > 0


def test_a_higher_power_level_saves_calls_costs_power_and_disturbs_the_others():
    results = []
    for level in (-1.0, 1.0):
        engine = make_engine(Pcs(100, channels=10, interarrival=8.0), "serial")
        engine.reset(0)
        actions = np.tile([level, -1.0, 1.0], (100, 1))
        outages = power = 0.0
        for _ in range(60):
            info = engine.step(actions, np.ones(100, bool)).info
            outages, power = outages + info["calls_outages"].sum(), power + info["mean_power"].mean()
        results.append((outages, power, engine.state["near_power"].mean()))
    (lost_low, power_low, near_low), (lost_high, power_high, near_high) = results
    assert lost_high < lost_low / 2
    assert power_high > 1.3 * power_low
    assert near_high > 1.3 * near_low


def test_without_fading_gains_are_one_and_no_call_is_lost_to_it():
    for engine, _ in run(fading=False, sir=5.0):
        state = engine.state
        assert set(np.unique(state["gain"][state["end"] > 0])) <= {1.0}
        assert state["outages"].sum() == 0


def test_without_mobility_and_communication_no_event_crosses():
    for engine, _ in run(mobility=False, communication=False):
        assert engine.model.lookahead == engine.model.dt
        assert not np.isin(engine.capture().pending["kind"], (Kind.HANDOFF_RECEIVE, Kind.ANNOUNCE)).any()
        assert engine.state["left"].sum() == 0


def test_an_empty_start_has_no_call():
    engine, out = next(iter(run(warm=False)))
    assert engine.state["busy"].sum() == 0
    assert out.observations[:, 0].max() == 0.0


def test_same_seed_same_world_and_other_seed_another():
    digests = [list(run(seed=seed))[-1][0].digest() for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_complexity_is_the_number_of_paths_of_a_gain():
    def gains(complexity):
        engine = make_engine(Pcs(1000, channels=10, interarrival=8.0, complexity=complexity), "serial")
        engine.reset(0)
        for _ in range(6):
            engine.step(np.zeros((1000, 3)), np.ones(1000, bool))
        return engine.state["gain"][engine.state["end"] > 0]

    assert gains(1) == pytest.approx(1.0)  # one path does not fade
    # With many paths of phases that are independent: exponential, of which 1 - 1/e lies below the mean.
    # Calls in a deep fade are lost, which makes the observed mean a little larger.
    many = gains(40)
    assert (many < 1.0).mean() == pytest.approx(1.0 - math.exp(-1.0), abs=0.02)


@pytest.mark.parametrize("discrete", [False, True])
def test_actions_are_what_their_numbers_say(discrete):
    model = Pcs(4, discrete=discrete)
    engine = make_engine(model, "python")
    engine.reset(0)
    low, high = ([0, 0, 0], [4, 8, 4]) if discrete else ([-1, -1, -1], [1, 1, 1])
    middle = [2, 4, 2] if discrete else [0, 0, 0]
    engine.step(np.array([low, middle, high, middle], float), np.ones(4, bool))
    state = engine.state
    assert state["cap"] == pytest.approx([2.0, 8.0, 32.0, 8.0])
    assert state["guard"].tolist() == [0, 4, 8, 4]
    assert state["threshold"] == pytest.approx([0.5, 0.75, 1.0, 0.75])


@pytest.mark.parametrize("arguments", [{}, {"discrete": True}, {"topology": "square", "n_agents": 9}])
def test_passes_parallel_api_test(arguments):
    env = pcs_v0.parallel_env(scheduler="python", **{"n_agents": 8, "max_cycles": 20, **SMALL, **arguments})
    parallel_api_test(env, num_cycles=30)
    env.close()


def test_is_registered_and_has_an_aec_form():
    env = seer_env.make("pcs_v0", n_agents=4, scheduler="python")
    assert env.possible_agents == [f"station_{i}" for i in range(4)]
    assert pcs_v0.env(n_agents=4, scheduler="python").unwrapped is not None
    env.close()


@pytest.mark.parametrize("n", [400, 800, 900, 1600, 2500, 3600, 4900])
def test_the_papers_scales_can_be_made(n):
    model = Pcs(n)
    model.validate()
    assert (np.diff(model.topology.offsets) == 6).all()


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"n_agents": 0}, "n_agents must be an integer from 1 up, got 0"),
        ({"n_agents": 9}, "n_agents=9: a hexagonal torus needs an even number of rows"),
        ({"complexity": 1.5}, "complexity must be an integer from 1 to .* got 1.5"),
        ({"interarrival": math.inf}, "interarrival must be a finite number above 0, got inf"),
        ({"hotspot": 1.5}, "hotspot is a share of the cells"),
        ({"max_guard": 80}, "max_guard must be an integer from 1 to 70, got 80"),
        ({"static_guard": 9}, "static_guard must be an integer from 0 to 8, got 9"),
        ({"warp": 9.0}, "unknown parameters \\['warp'\\]"),
        ({"low_cap": 64.0}, "low_cap=64.0, and that below"),
        ({"w_power": -1.0}, "w_power must be a finite number from 0 up, got -1.0"),
        ({"sir": 0.0}, "sir must be positive"),
        ({"channels": "abc"}, "channels must be an integer from 1 to .* got 'abc'"),
        ({"channels": math.nan}, "channels must be an integer from 1 to .* got nan"),
        ({"n_agents": True}, "n_agents must be an integer from 1 up, got True"),
        ({"residence": "long"}, "residence must be a finite number above 0, got 'long'"),
        ({"tour": -1}, "tour must be a finite number from 0 up, got -1"),
        ({"duration": 1e300}, "duration must be a number of at most 1e\\+12 in size, got 1e\\+300"),
        ({"noise": 1e300}, "noise must be a number of at most 1e\\+12 in size, got 1e\\+300"),
        ({"mobility": "false"}, "mobility must be True or False, got 'false'"),
        ({"topology": "ring"}, "topology must be"),
        ({"topology": ([0, 1], [1])}, "n_agents=4 cells need integer offsets of shape \\(5,\\)"),
        ({"positions": np.zeros((4, 2))}, "positions belong to a graph"),
    ],
)
def test_impossible_worlds_are_refused_by_name(world, message):
    with pytest.raises(ModelError, match=message):
        Pcs(**{"n_agents": 4, **world})
