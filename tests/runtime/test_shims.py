"""From a model to C functions: each compiled once, and every kind of declaration."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
from gymnasium import spaces

from seer_env.errors import ModelError
from seer_env.model import EventModel, handles, output
from seer_env.runtime import shims
from seer_env.runtime.engine import make_engine

SCHEDULERS = {"serial": ("serial", 1), "seer": ("seer", 2)}


class WideKind(IntEnum):
    SEND = 0
    TAKE = 1


class Wide(EventModel):
    """Twelve payload words, tables of one to four dimensions, parameters and fields of every type."""

    name = "wide"
    Kind = WideKind
    entity = np.dtype(
        [
            ("f", "f8"),
            ("i", "i8"),
            ("small", "i8"),
            ("byte", "i8"),
            ("unsigned", "i8"),
            ("flag", "?"),
            ("row", "f8", (3,)),
            ("grid", "i8", (2, 2)),
        ]
    )
    payload = 12
    lookahead = 0.5
    public = ("row", "flag", "f")
    observation_space = spaces.Box(-np.inf, np.inf, (5,), np.float32)

    def __init__(self, n=70, n_agents=0):
        rng = np.random.default_rng(1)
        tables = {
            "one": rng.random(n),
            "two": rng.integers(0, 9, (n, 3)),
            "three": rng.random((2, 3, 4)) < 0.5,
            "four": rng.random((2, 2, 3, 2)).astype(np.float32),
        }
        params = {"gain": 0.25, "shift": 3, "on": True, "off": np.bool_(False), "wide": np.int32(2)}
        super().__init__(n, n_agents, params, tables)

    def reset(self, state, schedule, rng):
        state["row"] = rng.random((self.n_entities, 3))
        state["unsigned"] = 2**62
        schedule(np.arange(self.n_entities), 0.25, WideKind.SEND, *range(12))

    @handles(WideKind.SEND)
    def send(me, event, sim):
        me.i += sim.params.shift // sim.params.wide
        me.unsigned += 1
        me.flag = (sim.params.on and not sim.params.off) != me.flag
        other = sim.view((sim.me + 1) % sim.n_entities)
        t = sim.tables
        a = t.one[sim.me] + t.two[sim.me, 1] + t.four[1, 0, 2, 1] + len(t.one) + t.two.shape[1]
        b = 1.0 if t.three[1, 2, sim.me % 4] else 0.0
        sim.emit(
            (3 * sim.me + 1) % sim.n_entities, 0.5, WideKind.TAKE,
            a, b, other.f, other.row[1], other.flag, me.i, 7, 8, 9, 10.5, sim.n_agents, event.payload[11],
        )  # fmt: skip
        sim.emit(sim.me, 1.0, WideKind.SEND, a, b)

    @handles(WideKind.TAKE)
    def take(me, event, sim):
        for k in range(12):
            me.f = 0.9 * me.f + (k + 1) * event.payload[k]
        me.row[1] = me.row[0] + sim.params.gain
        me.row[0] = event.payload[3]
        me.grid[1, 0] += int(event.payload[6])
        me.small -= 1
        me.byte = np.int8(me.small % 100)

    @output
    def observe(me, obs, info, sim):
        obs[0], obs[1], obs[2] = me.f, me.row[1], me.grid[1, 0]
        obs[3] = sim.tables.four[0, 1, 1, 0]
        obs[4] = sim.now


def digests(engine, steps=3):
    engine.reset(2)
    found = [engine.digest()]
    model = engine.model
    for _ in range(steps):
        engine.step(np.ones((model.n_agents, model.action_size)), np.ones(model.n_agents, bool))
        found.append(engine.digest())
    return found


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("n_agents", [0, 20])
def test_every_kind_of_declaration_works_as_under_the_oracle(name, n_agents):
    """Also: no agents and then some of the same class; public fields without a grid; no action kind."""
    model = Wide(n_agents=n_agents)
    assert digests(make_engine(model, *SCHEDULERS[name])) == digests(make_engine(model, "python"))


def test_twelve_words_arrive():
    engine = make_engine(Wide(n=1), "serial")
    engine.reset(0)
    pending = engine.capture().pending
    np.testing.assert_array_equal(pending["payload"][0], np.arange(12))
    engine.step(np.zeros((0, 1)), np.zeros(0, bool))
    assert engine.state["grid"][0, 1, 0] == 7


def test_words_that_are_not_given_are_zero():
    engine = make_engine(Wide(n=4), "serial")
    digests(engine, steps=1)
    pending = engine.capture().pending
    again = pending[pending["kind"] == WideKind.SEND]
    assert len(again) == 4
    assert not again["payload"][:, 2:].any()


class Tiny(EventModel):
    """One handler, an action and an observation: four functions."""

    class Kind(IntEnum):
        ACT = 0

    name = "tiny"
    entity = np.dtype([("x", "f8")])
    public = ("x",)
    action_kind = Kind.ACT
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, state, schedule, rng):
        state["x"] = 0.0

    @handles(Kind.ACT)
    def act(me, event, sim):
        me.x += event.payload[0] * sim.params.gain

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.x


def tiny(n=3, gain=1.0):
    return Tiny(n, params={"gain": gain})


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """An empty cache, and the names of the functions that are asked for."""
    asked = []
    real = shims.c_function

    def counting(function, *arguments):
        asked.append(function.__name__)
        return real(function, *arguments)

    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(shims, "c_function", counting)
    monkeypatch.setattr(shims, "_COMPILED", type(shims._COMPILED)())
    return asked


def test_each_function_is_compiled_once_and_found_again(counted):
    compiled = shims.compile_model(tiny())
    assert sorted(counted) == ["act", "handler_0", "observe", "publish"]
    assert compiled.compilations == len(compiled.functions) == 4
    for other in (tiny(), tiny(n=500), tiny(gain=2.0)):  # sizes and parameters are not compiled in
        assert shims.compile_model(other) is compiled
    assert len(counted) == 4
    shims._COMPILED.clear()  # as a new process would start
    assert shims.compile_model(tiny()).compilations == 0
    assert len(counted) == 8


@pytest.mark.parametrize("n_agents", [(0, 3), (3, 0)])
def test_a_class_with_and_without_agents_is_two_compilations(counted, n_agents):
    first, second = (shims.compile_model(Tiny(3, agents, params={"gain": 1.0})) for agents in n_agents)
    assert [bool(first.observe), bool(second.observe)] == [agents > 0 for agents in n_agents]


def test_params_of_another_type_are_another_compilation(counted):
    assert shims.params_dtype(tiny(gain=1.0)) != shims.params_dtype(tiny(gain=1))
    assert shims.params_dtype(tiny(gain=1)) != shims.params_dtype(tiny(gain=True))


def test_parameters_of_two_models_of_one_code_do_not_mix():
    engines = [make_engine(tiny(gain=gain), "serial") for gain in (1.0, 10.0)]
    for engine in engines:
        engine.reset(0)
    for engine in engines:
        engine.step(np.ones((3, 1)), np.ones(3, bool))
    assert [engine.state["x"].tolist() for engine in engines] == [[1.0] * 3, [10.0] * 3]


def test_an_info_field_is_zero_until_written_whatever_its_name():
    class Told(Tiny):
        info = np.dtype([("none", "i8")])

    with_info, without = make_engine(Told(3, params={"gain": 1.0}), "serial"), make_engine(tiny(), "serial")
    for engine in (without, with_info):
        engine.reset(0)
        outputs = engine.step(np.ones((3, 1)), np.ones(3, bool))
    assert outputs.info["none"].tolist() == [0, 0, 0]


def test_a_world_made_by_exec_without_a_module_name_compiles():
    source = (
        "from runtime_worlds import Ripples\n"
        "from seer_env.model import output\n"
        "def half(x):\n    return 0.5 * x\n"
        "class Nameless(Ripples):\n"
        "    @output\n"
        "    def reward(me, info, sim):\n        return half(me.x)\n"
    )
    scope = {}
    exec(source, scope)
    engine = make_engine(scope["Nameless"](8), "serial")
    engine.reset(1)
    np.testing.assert_array_equal(engine.outputs.rewards, 0.0)


def test_machine_code_is_named_after_its_model(tmp_path, monkeypatch):
    """numba's own names hold numbers counted per process: cached code of two processes would clash."""
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    shims._COMPILED.clear()
    compiled = shims.compile_model(Wide(4))
    code = [f.name for c in compiled.functions for f in c._library.get_defined_functions()]
    mine = [name for name in code if "handler_" in name or "Wide" in name]
    assert mine
    assert all(compiled.spec.label in name for name in mine)


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1.0


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def act_by_factorial(me, event, sim):
    me.f = factorial(5)


def act_by_turns(me, event, sim):
    me.flag = is_even(4)


@pytest.mark.parametrize(
    ("handler", "chain"),
    [(act_by_factorial, r"factorial -> factorial"), (act_by_turns, r"is_even -> is_odd -> is_even")],
)
def test_a_function_that_calls_itself_is_refused_by_name(handler, chain):
    """numba compiles it; loaded from the cache it would end the process, as would too deep a recursion."""

    class Recursive(Wide):
        send = handles(WideKind.SEND)(handler)

    with pytest.raises(ModelError, match=rf"test_shims.py:\d+\) calls itself \({chain}\): use a loop"):
        make_engine(Recursive(), "serial")


def half(x):
    return 0.5 * x


def test_a_function_called_from_two_places_is_not_recursion():
    class Halving(Wide):
        @handles(WideKind.SEND)
        def send(me, event, sim):
            me.f = half(half(me.f + 1.0))

    assert digests(make_engine(Halving(), "serial")) == digests(make_engine(Halving(), "python"))
