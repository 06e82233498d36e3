"""Every rule of the event-locality contract, under every scheduler: what is raised, and what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from runtime_worlds import LOOKAHEAD, SCHEDULERS, TICK, Fault, Faulty, FaultyKind, orders, share_everything

from seer_env.errors import ContractBreach
from seer_env.runtime.engine import make_engine
from seer_env.runtime.layout import MAX_EMISSIONS, MAX_MICRO

N = 512
LIVE = np.ones(N, bool)

#: Fault: the rule it breaks, and what the message says of the emission of entity 300.
BREACHES = {
    Fault.SOON: ("lookahead", "emitted NOTE to entity 301 with delay 0.125"),
    Fault.BACKWARDS: ("timestamp", "emitted NOTE to entity 301 with delay -0.5"),
    Fault.NOT_A_NUMBER: ("timestamp", "emitted NOTE to entity 300 with delay nan"),
    Fault.NEVER: ("timestamp", "emitted NOTE to entity 300 with delay inf"),
    Fault.BELOW: ("target", "emitted NOTE to entity -1 with delay 1.0"),
    Fault.BEYOND: ("target", f"emitted NOTE to entity {N} with delay 1.0"),
    Fault.NO_SUCH_KIND: ("kind", "emitted 4 to entity 301 with delay 1.0"),
    Fault.NEGATIVE_KIND: ("kind", "emitted -1 to entity 301 with delay 1.0"),
}
#: What the message tells to do or what would be right, by rule.
ADVICE = {
    "lookahead": f"lookahead, {LOOKAHEAD}",
    "timestamp": "must be a number >= 0",
    "target": f"targets are 0..{N - 1}",
    "kind": "'NOTE'",
    "cascade": "Give the cycle a positive delay",
    "capacity": "raise event_capacity",
    "emissions": "Reset more often",
}
RAISERS = {
    Fault.HANDLER_RAISES: (ValueError, "a handler's own"),
    Fault.OBSERVE_RAISES: (ValueError, "observe's own"),
    Fault.REWARD_RAISES: (LookupError, "reward's own"),
    Fault.TERMINATED_RAISES: (ArithmeticError, "terminated's own"),
}


@pytest.fixture(scope="module")
def engines():
    """An engine of each scheduler, one step after reset; a failing step leaves them there."""
    found = {}
    for name, (scheduler, threads) in SCHEDULERS.items():
        found[name] = engine = make_engine(Faulty(N), scheduler, threads)
        if name == "seer":
            share_everything(engine)
        engine.reset(5)
        engine.step(orders(engine.model), LIVE)
    return found


@pytest.fixture(params=SCHEDULERS)
def engine(engines, request):
    return engines[request.param]


def raised_by(engine, *given):
    """The exception of a step in which `given` agents misbehave; None if it passes."""
    try:
        engine.step(orders(engine.model, *given), np.ones(engine.model.n_agents, bool))
    except Exception as error:
        return error
    return None


def tick_from(entity, when, n=N):
    """When `entity` first ticks from `when` on."""
    phase = entity / n * TICK
    return phase + TICK * math.ceil((when - phase) / TICK)


def test_the_rounds_of_seer_are_shared(engines):
    assert engines["seer"].stats.shared_rounds > 0


@pytest.mark.parametrize("fault", BREACHES, ids=lambda f: f.name)
def test_a_breach_tells_entity_event_parent_and_rule(engine, fault):
    rule, emission = BREACHES[fault]
    breach = raised_by(engine, (300, fault, 1.5))
    assert isinstance(breach, ContractBreach)
    assert (breach.rule, breach.entity, breach.time, breach.kind) == (rule, 300, tick_from(300, 1.5), "RUN")
    message = str(breach)
    assert f"entity 300, executing RUN at t={tick_from(300, 1.5)!r}" in message
    assert emission in message
    assert ADVICE[rule] in message
    assert "rolled back" in message


@pytest.mark.parametrize("fault", BREACHES, ids=lambda f: f.name)
def test_an_actions_breach_is_at_the_steps_start(engine, fault):
    rule, _ = BREACHES[fault]
    breach = raised_by(engine, (300, fault, 0.0))
    assert (breach.rule, breach.entity, breach.time, breach.kind) == (rule, 300, 1.0, "ACT")


@pytest.mark.parametrize("fault", [Fault.SOON, Fault.BELOW, Fault.NO_SUCH_KIND, Fault.NOT_A_NUMBER])
@pytest.mark.parametrize(
    ("offenders", "first"),
    [
        ([(400, 1.25), (20, 1.5)], 400),  # the earlier time wins
        ([(400, 1.5), (21, 1.5), (300, 1.5)], 21),  # of one round the earlier tick
        ([(511, 1.25), (0, 1.5), (256, 1.25)], 256),
        ([(i, 1.5) for i in range(64, N)], 64),  # everybody
    ],
)
def test_of_several_breaches_the_first_in_key_order_is_raised(engine, fault, offenders, first):
    breach = raised_by(engine, *[(i, fault, when) for i, when in offenders])
    expected = min((tick_from(i, when), i) for i, when in offenders)
    assert expected[1] == first
    assert (breach.time, breach.entity) == expected


def test_of_several_breaching_actions_the_first_agents_is_raised(engine):
    given = [(i, Fault.SOON if i % 2 else Fault.BELOW, 0.0) for i in range(400, 40, -3)]
    breach = raised_by(engine, *given)
    assert (breach.entity, breach.rule) == (43, "lookahead")


def test_an_actions_breach_comes_before_all_others(engine):
    breach = raised_by(engine, (3, Fault.BELOW, 1.25), (500, Fault.SOON, 0.0))
    assert (breach.entity, breach.kind) == (500, "ACT")


def test_of_events_at_one_time_the_breach_of_the_smaller_key_is_raised(engine):
    """Different faults, so that rule and entity must belong together."""
    breach = raised_by(engine, (257, Fault.SOON, 1.25), (256, Fault.BEYOND, 1.25))
    assert (breach.entity, breach.rule) == (256, "target")


def test_a_cascade_without_end_is_stopped(engine):
    breach = raised_by(engine, (300, Fault.CASCADE, 1.5))
    assert (breach.rule, breach.entity, breach.time, breach.kind) == (
        "cascade", 300, tick_from(300, 1.5), "CHAIN",
    )  # fmt: skip
    assert ADVICE["cascade"] in str(breach)
    assert str(MAX_MICRO) in str(breach)


def test_a_cascade_in_an_action_is_stopped(engine):
    breach = raised_by(engine, (300, Fault.CASCADE, 0.0))
    assert (breach.rule, breach.entity, breach.time, breach.kind) == ("cascade", 300, 1.0, "CHAIN")


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_last_emission_an_entity_may_make_is_made_and_the_next_is_a_breach(engines, name):
    engine = make_engine(engines[name].model, *SCHEDULERS[name])
    engine.reset(5)
    boundary = engine.capture()
    boundary.emitted[300] = MAX_EMISSIONS - 1 - 2  # a tick emits twice
    engine.restore(boundary, engine.outputs)
    breach = raised_by(engine)
    assert (breach.rule, breach.entity, breach.time, breach.kind) == (
        "emissions", 300, tick_from(300, TICK), "RUN",
    )  # fmt: skip
    assert str(MAX_EMISSIONS - 1) in str(breach)
    assert ADVICE["emissions"] in str(breach)


@pytest.mark.parametrize("fault", RAISERS, ids=lambda f: f.name)
def test_a_functions_own_exception_arrives_as_it_was_raised(engine, fault):
    kind, message = RAISERS[fault]
    error = raised_by(engine, (300, fault, 1.5))
    assert type(error) is kind
    assert error.args == (message,)


def test_an_exception_in_an_action_arrives_as_it_was_raised(engine):
    error = raised_by(engine, (300, Fault.HANDLER_RAISES, 0.0))
    assert type(error) is ValueError


def test_the_traceback_of_an_exception_leads_into_the_handler(engine):
    error = raised_by(engine, (300, Fault.HANDLER_RAISES, 1.5))
    trace, names = error.__traceback__, []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names[-2:] == ["run", "misbehave"]


@pytest.mark.parametrize(
    ("breaching", "raising", "expected"), [(1.25, 1.5, ContractBreach), (1.5, 1.25, ValueError)]
)
def test_of_a_breach_and_an_exception_the_first_in_key_order_is_raised(engine, breaching, raising, expected):
    error = raised_by(engine, (20, Fault.SOON, breaching), (400, Fault.HANDLER_RAISES, raising))
    assert type(error) is expected


def test_after_all_these_the_schedulers_still_agree(engines):
    digests = set()
    for engine in engines.values():
        engine.step(orders(engine.model), LIVE)
        digests.add(engine.digest())
    assert len(digests) == 1


@pytest.mark.parametrize("name", SCHEDULERS)
def test_an_exception_at_reset_arrives_as_it_was_raised(name):
    class Broken(Faulty):
        def reset(self, state, schedule, rng):
            state["fault"][7] = Fault.OBSERVE_RAISES

    engine = make_engine(Broken(16), *SCHEDULERS[name])
    with pytest.raises(ValueError, match="observe's own"):
        engine.reset(0)


# -- a capacity that is reached -------------------------------------------------------------------------


@pytest.fixture(scope="module", params=SCHEDULERS)
def small(request):
    """16 entities and room for 600 events; a legal step has 16 * (1 action + 4 ticks + 4 notes)."""
    engine = make_engine(Faulty(16), *SCHEDULERS[request.param], event_capacity=600)
    engine.reset(5)
    for _ in range(3):
        engine.step(orders(engine.model), np.ones(16, bool))
    return engine


@pytest.mark.parametrize("when", [0.0, 3.5])
def test_an_endless_emission_reaches_the_capacity(small, when):
    breach = raised_by(small, (5, Fault.ENDLESS, when))
    assert isinstance(breach, ContractBreach)
    assert (breach.rule, breach.entity, breach.kind) == ("capacity", 5, "CHAIN")
    assert "event_capacity=600" in str(breach)
    assert ADVICE["capacity"] in str(breach)


def test_a_step_within_the_capacity_is_no_breach(small):
    assert raised_by(small, (5, Fault.BURST, 0.0, 200)) is None


def test_kinds_and_faults_are_what_the_tests_name():
    assert [k.name for k in FaultyKind] == ["ACT", "RUN", "NOTE", "CHAIN"]
    assert set(BREACHES) | set(RAISERS) | {Fault.CASCADE, Fault.ENDLESS, Fault.BURST, Fault.NOTHING} == set(
        Fault
    )
