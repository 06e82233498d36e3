"""Worlds by name, in seer_env and in PettingZoo's registry."""

from __future__ import annotations

import inspect

import gymnasium
import pettingzoo
import pytest
from worlds import Lamps, Ring

from seer_env import Copies, make_vec, registration
from seer_env.env import SeerParallelEnv, make
from seer_env.errors import ModelError


@pytest.fixture
def ring_v0(monkeypatch):
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    for registry in (pettingzoo.parallel_registry, pettingzoo.aec_registry, gymnasium.registry):
        before = dict(registry)
        monkeypatch.setitem(registry, "seer_env/ring-v0", None)
        registry.clear()
        registry.update(before)
    registration.register("ring_v0", "worlds:Ring")
    return "ring_v0"


def test_make_builds_a_world_with_its_own_arguments(ring_v0):
    env = make(ring_v0, n_agents=3, scheduler="python", max_cycles=9, patience=4)
    assert isinstance(env, SeerParallelEnv)
    assert len(env.possible_agents) == 3
    assert env.max_cycles == 9
    assert env.model.params["patience"] == 4


def test_make_leaves_the_number_of_agents_to_the_world(ring_v0):
    assert len(make(ring_v0, scheduler="python").possible_agents) == 6


def test_max_cycles_are_the_worlds_own_unless_given():
    model = Ring()
    assert make(model, scheduler="python").max_cycles is None
    model.max_cycles = 50
    assert make(model, scheduler="python").max_cycles == 50
    assert make(model, scheduler="python", max_cycles=7).max_cycles == 7


def test_make_takes_a_model():
    model = Lamps()
    assert make(model, scheduler="python", render_mode="rgb_array").model is model


def test_a_model_takes_no_further_arguments():
    with pytest.raises(TypeError, match="n_agents"):
        make(Ring(), n_agents=5)


def test_copies_have_no_aec_form():
    with pytest.raises(ValueError, match=r"copies=2: .* no AEC form"):
        registration.make_aec(Ring(), copies=2)


def test_an_unknown_world_is_an_error_that_lists_the_known():
    with pytest.raises(registration.UnknownWorldError, match=r"no world 'nowhere_v0'.*aircraft_v0"):
        make("nowhere_v0")


def test_a_file_without_a_class_is_an_error_that_shows_the_form():
    with pytest.raises(registration.UnknownWorldError, match=r"as mine/mine\.py:Class"):
        make("mine/mine.py")


def test_an_unknown_argument_is_named(ring_v0):
    with pytest.raises(
        ModelError, match=r"unknown parameters \['wings'\]: choose from \['n_agents', 'extra'"
    ):
        make(ring_v0, wings=2)


@pytest.mark.parametrize("world", ["aircraft_v0", "battle_v0", "pcs_v0", "flock_v0", "epidemic_v0"])
@pytest.mark.parametrize(("given", "near"), [("thread", "threads"), ("n_agent", "n_agents")])
def test_a_misspelt_argument_of_any_world_is_put_right(world, given, near):
    with pytest.raises(ModelError, match=rf"unknown parameters \['{given}'\]: did you mean {near}\?"):
        make(world, **{given: 3})


def test_a_misspelt_argument_of_make_vec_is_put_right():
    with pytest.raises(ModelError, match=r"did you mean copies\?"):
        make_vec("flock_v0", copis=3)


def test_a_misspelt_world_is_put_right():
    with pytest.raises(registration.UnknownWorldError, match=r"'aircaft_v0': did you mean aircraft_v0\?"):
        make("aircaft_v0")


def test_a_name_cannot_be_taken_twice(ring_v0):
    registration.register(ring_v0, "worlds:Ring")
    with pytest.raises(ValueError, match="registered"):
        registration.register(ring_v0, Lamps)


def test_an_impossible_world_is_refused(ring_v0):
    with pytest.raises(ModelError, match="n_agents"):
        make(ring_v0, n_agents=-3, extra=20, scheduler="python")


def test_pettingzoo_makes_the_same_env(ring_v0):
    env = pettingzoo.make("parallel", "seer_env/ring_v0", max_cycles=7, scheduler="python", patience=4)
    same = make(ring_v0, max_cycles=7, scheduler="python", patience=4)
    assert type(env) is SeerParallelEnv
    env.reset(seed=1)
    same.reset(seed=1)
    assert env.digest() == same.digest()
    assert env.max_cycles == 7


def test_pettingzoo_makes_the_turn_based_env(ring_v0):
    env = pettingzoo.make("aec", "seer_env/ring_v0", scheduler="python")
    env.reset(seed=1)
    assert env.agent_selection == "node_0"


@pytest.mark.parametrize("name", ["aircraft_v0", "battle_v0", "flock_v0", "epidemic_v0"])
def test_the_reference_worlds_are_registered(name):
    assert name in registration.registry
    assert pettingzoo.spec("parallel", f"seer_env/{name}").namespace == "seer_env"
    assert pettingzoo.spec("aec", f"seer_env/{name}").namespace == "seer_env"


def test_what_make_hands_on_is_what_envs_and_copies_take():
    def keywords(of):
        kinds = inspect.signature(of).parameters.values()
        return {p.name: p.default for p in kinds if p.kind is p.KEYWORD_ONLY}

    assert set(keywords(Copies)) == set(registration.SETTINGS)
    of_env = keywords(SeerParallelEnv)
    assert set(of_env) == {*registration.SETTINGS, *registration.ONE_WORLD}
    assert {name: of_env[name] for name in registration.ONE_WORLD} == registration.ONE_WORLD


@pytest.mark.parametrize(
    "argument", [{"check": True}, {"render_mode": "rgb_array"}, {"global_state": "full"}]
)
def test_what_is_for_one_world_is_refused_beside_copies(argument):
    with pytest.raises(ValueError, match="are for one world"):
        make(Lamps(), copies=2, **argument)


def test_gymnasium_knows_every_world():
    for name in registration.registry:
        assert gymnasium.spec(f"seer_env/{name}").namespace == "seer_env"


def test_gymnasiums_own_vector_env_takes_single_agents_by_name():
    envs = gymnasium.make_vec(
        "seer_env/pcs_v0", 2, "sync", n_agents=16, agent="station_3", others="threshold", scheduler="serial"
    )
    envs.reset(seed=1)
    assert envs.step(envs.action_space.sample())[0].shape == (2, *envs.single_observation_space.shape)
