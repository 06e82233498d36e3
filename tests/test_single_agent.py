"""One agent as a gymnasium env: what gymnasium's checker asks, and the same bytes as the world by arrays."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from worlds import Lamps, Ring

from seer_env.actions import ActionError
from seer_env.env import SeerParallelEnv
from seer_env.single_agent import SingleAgentEnv

SEED = 5


class FakeViewer:
    """No window."""

    def __init__(self, title):
        pass

    def show(self, frame):
        assert frame.dtype == np.uint8

    def close(self):
        pass


def idle(env):
    """Everybody does the same."""
    return np.zeros((len(env.possible_agents), env.model.action_size))


@pytest.mark.parametrize("make_model", [lambda: Ring(4), lambda: Lamps(4), lambda: Lamps(4, life=1)])
def test_gymnasium_finds_nothing_wrong_with_it(make_model, monkeypatch):
    monkeypatch.setattr("seer_env.env.Viewer", FakeViewer)

    def make(**arguments):
        return SingleAgentEnv(make_model(), scheduler="serial", **arguments)

    env = make()
    env.spec = EnvSpec("one-v0", make)  # without it, the checker compares no episodes and draws nothing
    check_env(env)


@pytest.mark.parametrize(
    ("world", "agents"), [("aircraft_v0", 12), ("battle_v0", 20), ("epidemic_v0", 30), ("pcs_v0", 16)]
)
@pytest.mark.filterwarnings("ignore:.*observation space maximum value is infinity:UserWarning")  # epidemic's
def test_gymnasium_finds_nothing_wrong_with_the_reference_worlds(world, agents):
    env = gymnasium.make(f"seer_env/{world}", n_agents=agents, scheduler="serial")
    check_env(env.unwrapped, skip_render_check=True)


def test_gymnasium_makes_it_by_name():
    env = gymnasium.make("seer_env/flock_v0", n_agents=20, agent="agent_7", scheduler="serial", max_cycles=3)
    env.reset(seed=SEED)
    over = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
    assert over == [(False, False), (False, False), (False, True)]


def test_it_sees_what_the_world_shows_its_agent():
    env = SingleAgentEnv(Lamps(4), agent="lamp_1", others=idle, scheduler="serial")
    world = SeerParallelEnv(Lamps(4), scheduler="python")
    observation, info = env.reset(seed=SEED)
    observations, infos = world.reset(seed=SEED)
    assert np.array_equal(observation, observations["lamp_1"])
    assert info == infos["lamp_1"]
    for action in (3, 0, 4):
        mine = env.step(action)
        theirs = world.step({name: action if name == "lamp_1" else 0 for name in world.agents})
        assert np.array_equal(mine[0], theirs[0]["lamp_1"])
        assert mine[1:] == tuple(part["lamp_1"] for part in theirs[1:])
        assert env.world.digest() == world.digest()


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_an_episode_is_the_same_on_every_number_of_threads(threads):
    def digests(env):
        env.reset(seed=SEED)
        return [env.step(np.ones(2, np.float32)) and env.world.digest() for _ in range(4)]

    expected = digests(SingleAgentEnv(Ring(8), scheduler="python"))
    assert digests(SingleAgentEnv(Ring(8), scheduler="seer", threads=threads)) == expected


def test_the_agents_end_is_the_episodes_though_others_go_on():
    env = SingleAgentEnv(Lamps(3, life=2), others=idle, scheduler="serial")
    env.reset(seed=SEED)
    over = [env.step(1)[2:4] for _ in range(2)]
    assert over == [(False, False), (True, False)]
    assert env.world.agents == ["lamp_1", "lamp_2"]
    with pytest.raises(ResetNeeded, match=r"'lamp_0' of lamps is not live"):
        env.step(1)
    env.reset()
    assert env.step(1)[2:4] == (False, False)


def test_it_goes_on_though_others_have_ended():
    env = SingleAgentEnv(Lamps(3, life=1), agent="lamp_2", others=idle, scheduler="serial")
    env.reset(seed=SEED)
    over = [env.step(1)[2:4] for _ in range(3)]
    assert over == [(False, False), (False, False), (True, False)]


def test_a_cut_off_episode_is_truncated():
    env = SingleAgentEnv(Lamps(3), scheduler="serial", max_cycles=2)
    env.reset(seed=SEED)
    assert [env.step(1)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_a_named_policy_plays_the_others():
    env = SingleAgentEnv("pcs_v0", others="threshold", n_agents=16, scheduler="serial")
    env.reset(seed=SEED)
    world = SeerParallelEnv(env.world.model, scheduler="serial")
    world.reset_arrays(SEED)
    block = np.array(world.policies["threshold"](world))
    block[0] = env.action_space.sample()
    env.step(block[0].astype(env.action_space.dtype))
    world.step_arrays(block)
    assert env.world.digest() == world.digest()


def test_an_env_is_taken_as_it_is_and_closed():
    world = SeerParallelEnv(Ring(4), scheduler="python")
    env = SingleAgentEnv(world, agent="node_1")
    assert env.world is world
    env.close()
    assert world.status == "closed"
    with pytest.raises(TypeError, match="takes no"):
        SingleAgentEnv(world, n_agents=3)


def test_humans_see_every_step(monkeypatch):
    env = SingleAgentEnv(Lamps(3), scheduler="python", render_mode="human")
    drawn = []
    monkeypatch.setattr(env.world, "render", lambda: drawn.append(env.world.steps))
    env.reset(seed=SEED)
    env.step(1)
    assert drawn == [0, 1]


def test_a_model_whose_agents_are_many_names_some():
    with pytest.raises(ValueError, match=r"agent 'node_9' .* there are node_0, node_1, node_2$"):
        SingleAgentEnv(Ring(3), agent="node_9", scheduler="python")
    with pytest.raises(ValueError, match=r"node_19, \.\.\. node_49$"):
        SingleAgentEnv(Ring(50), agent="node_99", scheduler="python")


def test_an_unknown_policy_names_the_known():
    with pytest.raises(ValueError, match=r"others='clever' .* \['random'\]"):
        SingleAgentEnv(Ring(3), others="clever", scheduler="python")
    with pytest.raises(TypeError, match="others must be"):
        SingleAgentEnv(Ring(3), others=3, scheduler="python")


def test_a_policys_output_is_checked():
    env = SingleAgentEnv(Ring(3), others=lambda env: np.zeros(5), scheduler="python")
    env.reset(seed=SEED)
    with pytest.raises(ActionError, match=r"policy <lambda> .* shape \(3, 2\), got shape \(5,\)"):
        env.step(np.zeros(2))
    assert env.world.steps == 0


@pytest.mark.parametrize("action", [np.zeros(3), 0.0, np.array([np.nan, 0.0])])
def test_the_agents_action_is_checked(action):
    env = SingleAgentEnv(Ring(3), agent="node_1", scheduler="python")
    env.reset(seed=SEED)
    with pytest.raises(ActionError, match="'node_1'"):
        env.step(action)


def test_masks_are_those_of_the_world():
    class Masked(Lamps):
        info = np.dtype([("action_mask", "i1", (5,)), ("level", "i8"), ("warmth", "f8"), ("lit", "b1")])
        action_space = spaces.Discrete(5)

    env = SingleAgentEnv(Masked(2), scheduler="python")
    assert env.reset(seed=SEED)[1]["action_mask"].dtype == np.int8
