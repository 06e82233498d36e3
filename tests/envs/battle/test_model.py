"""The rules of the world: against a slow oracle in random play, and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from battle_oracle import ATTACKS, MOVES, TARGETS, BattleOracle

import seer_env
from seer_env.env import SeerParallelEnv
from seer_env.envs.battle.constants import NOBODY, STAY
from seer_env.envs.battle.model import Battle
from seer_env.errors import ModelError
from seer_env.runtime.engine import make_engine


def action(dx, dy, attack=False):
    """The action aimed at the cell `(dx, dy)` away."""
    return len(MOVES) + ATTACKS.index((dx, dy)) if attack else MOVES.index((dx, dy))


def battle(positions, size=14, scheduler="python", **rules):
    """An engine with its agents at the given map coordinates, red before blue."""
    model = Battle(len(positions), map_size=size, **rules)
    engine = make_engine(model, scheduler)
    engine.reset(0)
    boundary = engine.capture()
    state, cells = boundary.state, model.field.entity_of(np.array(positions))
    state["shown"][state["cell"][: len(positions)]] = NOBODY
    state["cell"][: len(positions)], state["shown"][cells] = cells, np.arange(len(positions))
    engine.restore(boundary, engine.outputs)
    return engine


def step(engine, *actions, live=None):
    """One step with an action per agent, of whom those in `live` act."""
    live = np.ones(engine.model.n_agents, bool) if live is None else live
    return engine.step(np.array(actions, float)[:, None], live)


def positions(engine):
    """Map coordinates of every agent, as the agents have them."""
    model = engine.model
    return [tuple(xy) for xy in model.field.xy_of(engine.state["cell"][: model.n_agents]).tolist()]


def occupants(engine):
    """Who stands where, as the cells have it: `{(x, y): agent}`."""
    model, shown = engine.model, engine.state["shown"]
    cells = np.arange(model.field.first_cell, model.n_entities)
    taken = cells[(shown[cells] >= 0) & (shown[cells] < model.n_agents)]
    return {tuple(xy): int(shown[c]) for c, xy in zip(taken, model.field.xy_of(taken).tolist())}


def mixed_actions(env, rng):
    """Half of the agents rush, the others do anything at all, legal or not."""
    anything = rng.integers(0, len(TARGETS), (env.model.n_agents, 1))
    return np.where(rng.random(anything.shape) < 0.5, env.policies["rush"](env), anything)


# -- random play ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agents", "size"), [(4, 12), (32, 24), (50, 40)])
def test_random_play_follows_the_oracle(agents, size):
    env = SeerParallelEnv(Battle(agents, map_size=size), scheduler="serial")
    rng = np.random.default_rng(agents)
    env.reset_arrays(0)
    oracle = BattleOracle(size, positions(env._engine))
    for _ in range(150):
        live = np.flatnonzero(env.live)
        actions = mixed_actions(env, rng)
        before = dict(oracle.position)
        shown = env.step_arrays(actions)
        rewards = oracle.step(actions[:, 0].tolist())
        state = env.entities
        assert occupants(env._engine) == {cell: agent for agent, cell in oracle.position.items()}
        assert state["shown"][live].tolist() == [oracle.hp[a] for a in live]
        assert env.info_arrays["hits"][live].tolist() == [oracle.hits[a] for a in live]
        assert env.info_arrays["kills"][live].tolist() == [oracle.kills[a] for a in live]
        assert shown.rewards[live] == pytest.approx([rewards[a] for a in live])
        assert shown.terminated[live].tolist() == [oracle.over() or a not in oracle.position for a in live]
        for a in live:
            seen = oracle.view(a, oracle.position.get(a, before[a]))
            assert shown.observations[a].reshape(13, 13, 5) == pytest.approx(seen, abs=1e-6)
            if a in oracle.position:
                assert positions(env._engine)[a] == oracle.position[a]
                assert env.info_arrays["action_mask"][a].tolist() == oracle.legal(a)
        if not env.agents:
            break
    assert sum(oracle.kills) > 0


def test_armies_cells_and_agents_agree_at_every_boundary():
    env = SeerParallelEnv(Battle(200), scheduler="serial")
    env.reset_arrays(3)
    rng, half = np.random.default_rng(0), 100
    for _ in range(60):
        env.step_arrays(mixed_actions(env, rng))
        state = env.entities
        alive = state["shown"][:200] >= 0
        here = {agent: cell for cell, agent in occupants(env._engine).items()}
        where = positions(env._engine)
        assert here == {a: where[a] for a in np.flatnonzero(alive)}
        assert state["shown"][200:202].tolist() == [alive[:half].sum(), alive[half:].sum()]
        assert state["shown"][:200].max() <= 10.0
        assert state["kills"][:half].sum() == half - alive[half:].sum()
        if not env.agents:
            break
    assert not alive.all()


# -- moving --------------------------------------------------------------------------------------------


def test_there_are_thirteen_moves_and_eight_attacks():
    assert Battle().action_space.n == len(TARGETS) == 21
    assert TARGETS[STAY] == (0, 0)


@pytest.mark.parametrize("move", range(len(MOVES)))
def test_every_move_ends_where_it_is_aimed_at(move):
    engine = battle([(5, 5), (12, 12)])
    step(engine, move, STAY)
    assert positions(engine)[0] == (5 + MOVES[move][0], 5 + MOVES[move][1])


def test_walls_stop_moves():
    engine = battle([(1, 1), (12, 12)])
    step(engine, action(-1, 0), action(0, 2))
    assert positions(engine) == [(1, 1), (12, 12)]


@pytest.mark.parametrize(("red", "blue"), [((4, 5), (6, 5)), ((6, 5), (4, 5))])
def test_the_first_of_two_that_ask_for_a_cell_enters_it(red, blue):
    engine = battle([red, blue])
    step(engine, action(5 - red[0], 0), action(5 - blue[0], 0))
    assert positions(engine) == [(5, 5), blue]


def test_neighbours_cannot_swap():
    engine = battle([(4, 5), (5, 5)])
    step(engine, action(1, 0), action(-1, 0))
    assert positions(engine) == [(4, 5), (5, 5)]


def test_a_cell_that_is_left_is_free_in_the_next_step():
    engine = battle([(4, 5), (3, 5), (12, 11), (12, 12)], size=16)
    step(engine, action(1, 0), action(1, 0), STAY, STAY)
    assert positions(engine)[:2] == [(5, 5), (3, 5)]
    step(engine, STAY, action(1, 0), STAY, STAY)
    assert positions(engine)[:2] == [(5, 5), (4, 5)]


def test_a_move_may_pass_over_others():
    engine = battle([(4, 5), (5, 5)])
    step(engine, action(2, 0), STAY)
    assert positions(engine)[0] == (6, 5)


# -- fighting ------------------------------------------------------------------------------------------


def health(engine):
    return engine.state["shown"][: engine.model.n_agents].tolist()


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_takes_two_of_ten_from_who_is_there(attack):
    engine = battle([(5, 5), (5 + attack[0], 5 + attack[1])])
    outputs = step(engine, action(*attack, attack=True), STAY)
    assert health(engine) == [10.0, 8.0]
    assert outputs.rewards == pytest.approx([-0.005 - 0.1 + 0.2, -0.005])


def test_an_attack_comes_before_the_victims_move():
    engine = battle([(5, 5), (6, 5)])
    step(engine, action(1, 0, attack=True), action(2, 0))
    assert health(engine) == [10.0, 8.0]
    assert positions(engine)[1] == (8, 5)


@pytest.mark.parametrize("there", [(12, 12), (6, 5)])
def test_attacking_nobody_or_a_comrade_only_costs(there):
    engine = battle([(5, 5), (6, 5) if there == (6, 5) else (2, 2), (12, 11), (12, 12)], size=16)
    outputs = step(engine, action(1, 0, attack=True), STAY, STAY, STAY)
    assert health(engine) == [10.0] * 4
    assert outputs.rewards == pytest.approx([-0.105, -0.005, -0.005, -0.005])


def test_health_recovers_by_a_tenth_a_step_up_to_ten():
    engine = battle([(5, 5), (6, 5)])
    step(engine, action(1, 0, attack=True), STAY)
    seen = []
    for _ in range(22):
        step(engine, STAY, STAY)
        seen.append(health(engine)[1])
    assert seen[0] == pytest.approx(8.1)
    assert seen[18] == pytest.approx(9.9)
    assert seen[21] == 10.0


def test_six_attacks_kill_and_the_dead_leave_the_field():
    engine = battle([(5, 5), (1, 1), (6, 5), (12, 12)], size=16)
    for _ in range(5):
        outputs = step(engine, action(1, 0, attack=True), STAY, STAY, STAY)
        assert not outputs.terminated.any()
    outputs = step(engine, action(1, 0, attack=True), STAY, STAY, STAY)
    assert outputs.terminated.tolist() == [False, False, True, False]
    assert outputs.rewards == pytest.approx([-0.005 - 0.1 + 0.2 + 5.0, -0.005, -0.005 - 0.1, -0.005])
    assert (6, 5) not in occupants(engine)


def test_both_of_two_that_kill_each_other_die():
    engine = battle([(5, 5), (1, 1), (6, 5), (12, 12)], size=16, damage=11.0)
    attacks = action(1, 0, attack=True), STAY, action(-1, 0, attack=True), STAY
    outputs = step(engine, *attacks)
    assert outputs.terminated.tolist() == [True, False, True, False]
    assert outputs.rewards[[0, 2]] == pytest.approx([-0.005 - 0.1 + 0.2 + 5.0 - 0.1] * 2)


def test_one_death_is_one_kill_of_the_first_attacker():
    engine = battle([(5, 5), (7, 5), (6, 5), (12, 12)], size=16, damage=11.0)
    step(engine, action(1, 0, attack=True), action(-1, 0, attack=True), STAY, STAY)
    assert engine.state["kills"][:2].tolist() == [1, 0]
    assert engine.state["hits"][:2].tolist() == [1, 0]


def test_who_is_killed_while_moving_stands_nowhere():
    engine = battle([(5, 5), (1, 1), (6, 5), (12, 12)], size=16, damage=11.0)
    step(engine, action(1, 0, attack=True), STAY, action(1, 0), STAY)
    assert occupants(engine) == {(5, 5): 0, (1, 1): 1, (12, 12): 3}


def test_the_battle_ends_for_all_when_an_army_is_gone():
    engine = battle([(5, 5), (6, 5)], damage=11.0)
    outputs = step(engine, action(1, 0, attack=True), STAY)
    assert outputs.terminated.all()


# -- the env -------------------------------------------------------------------------------------------


def test_agents_are_named_by_army():
    names = seer_env.make("battle_v0", scheduler="python").possible_agents
    assert (names[0], names[80], names[81], names[161]) == ("red_0", "red_80", "blue_0", "blue_80")


def test_episodes_are_cut_off_after_a_thousand_steps():
    assert seer_env.make("battle_v0", scheduler="python").max_cycles == 1000


@pytest.mark.filterwarnings("ignore:The old environment creation API")  # PettingZoo's own test imports
def test_passes_parallel_api_test():
    from pettingzoo.test import parallel_api_test

    parallel_api_test(seer_env.make("battle_v0", n_agents=8, scheduler="serial"), num_cycles=60)


def test_random_policy_takes_legal_actions_only():
    env = seer_env.make("battle_v0", n_agents=4, map_size=12, scheduler="serial")
    env.reset_arrays(0)
    taken = set()
    for _ in range(300):
        mask = env.info_arrays["action_mask"]
        actions = env.policies["random"](env)[:, 0].astype(int)
        assert mask[np.arange(4), actions][env.live].all()
        taken.update(actions.tolist())
        env.step_arrays(actions)
    assert taken == set(range(21))


def test_without_infos_the_battle_is_the_same():
    told, bare = (seer_env.make("battle_v0", n_agents=32, scheduler="serial", infos=i) for i in (True, False))
    told.reset(seed=0)
    assert set(map(str, bare.reset(seed=0)[1].values())) == {"{}"}
    for _ in range(30):
        actions = mixed_actions(told, np.random.default_rng(0))
        for ours, theirs in zip(told.step_arrays(actions), bare.step_arrays(actions)):
            assert (ours == theirs).all()
    assert bare.policies["random"](bare).shape == (32, 1)


def test_worlds_of_one_seed_and_another_start_alike():
    engine = make_engine(Battle(20), "python")
    first, second = (engine.reset(seed).observations for seed in (0, 1))
    assert (first == second).all()


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"n_agents": 7}, "n_agents must be even.* got 7"),
        ({"n_agents": 0}, "n_agents must be an integer from 2 to .* got 0"),
        ({"n_agents": 10.5}, "n_agents must be an integer from 2 to .* got 10.5"),
        ({"map_size": 44}, "map_size must be at least 45 for 162 agents, got 44"),
        ({"n_agents": 2, "map_size": 5}, "map_size must be an integer from 12 to 2000, got 5"),
        ({"map_size": True}, "map_size must be an integer from 12 to 2000, got True"),
        ({"speed": 3}, r"unknown parameters \['speed'\]"),
        ({"max_hp": 0.0}, "max_hp must be a finite number above 0, got 0.0"),
        ({"damage": -1.0}, "damage must be a finite number from 0 up, got -1.0"),
        ({"n_agents": 10**30}, "n_agents must be an integer from 2 to"),
        ({"infos": "false"}, "infos must be True or False, got 'false'"),
        ({"kill_reward": -1e300}, r"kill_reward must be a number of at most 1e\+12 in size, got -1e\+300"),
        ({"kill_reward": float("nan")}, "kill_reward must be a finite number, got nan"),
    ],
)
def test_impossible_worlds_are_refused_by_name(world, message):
    with pytest.raises(ModelError, match=message):
        Battle(**world)
