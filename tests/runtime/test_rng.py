"""Random streams: known answers, independence, and the compiled twin bit for bit."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
import pytest
from gymnasium import spaces

from seer_env.model import EventModel, handles
from seer_env.runtime.engine import make_engine
from seer_env.runtime.rng import GOLDEN, MASK, Stream, mix64, streams

#: SplitMix64 of Vigna's reference code (prng.di.unimi.it/splitmix64.c), whose state advances by GOLDEN.
PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B],
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}


def one_stream(start, gamma):
    return Stream(np.array([start], np.uint64), np.array([gamma], np.uint64), 0)


@pytest.mark.parametrize("seed", PUBLISHED)
def test_mixing_gives_the_published_values_of_splitmix64(seed):
    assert [mix64((seed + n * GOLDEN) & MASK) for n in range(1, 6)] == PUBLISHED[seed]


@pytest.mark.parametrize("seed", PUBLISHED)
def test_a_stream_with_the_golden_gamma_is_splitmix64(seed):
    stream = one_stream(seed, GOLDEN)
    assert [stream.bits() for _ in range(5)] == PUBLISHED[seed]


def test_starts_and_gammas_are_hashes_of_seed_and_entity():
    start, gamma = streams(42, 3)
    for i in range(3):
        assert int(start[i]) == mix64((42 + GOLDEN * (2 * i + 1)) & MASK)
        assert int(gamma[i]) in {
            mix64((42 + GOLDEN * (2 * i + 2)) & MASK) | 1,
            (mix64((42 + GOLDEN * (2 * i + 2)) & MASK) | 1) ^ 0xAAAAAAAAAAAAAAAA,
        }


def test_gammas_are_odd_and_have_enough_bit_transitions():
    _, gamma = streams(7, 20_000)
    assert (gamma % np.uint64(2) == 1).all()
    transitions = [(int(g) ^ (int(g) >> 1)).bit_count() for g in gamma]
    assert min(transitions) >= 24


def test_no_two_entities_or_seeds_share_a_stream():
    pairs = {(int(s), int(g)) for seed in range(5) for s, g in zip(*streams(seed, 2000))}
    assert len(pairs) == 10_000


def test_an_entitys_stream_does_not_depend_on_how_many_there_are():
    few, many = streams(3, 10), streams(3, 1000)
    for a, b in zip(few, many):
        np.testing.assert_array_equal(a, b[:10])


def test_drawing_from_one_stream_moves_no_other():
    start, gamma = streams(3, 4)
    before = start.copy()
    Stream(start, gamma, 2).random()
    np.testing.assert_array_equal(np.flatnonzero(start != before), [2])


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, -5])
def test_any_integer_is_a_seed(seed):
    start, gamma = streams(seed, 2)
    assert start.dtype == gamma.dtype == np.uint64


def test_streams_of_neighbours_are_uncorrelated():
    start, gamma = streams(11, 2)
    a, b = (
        np.array([stream.random() for _ in range(20_000)])
        for stream in (Stream(start, gamma, 0), Stream(start, gamma, 1))
    )
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / math.sqrt(20_000)


def test_draws_have_the_moments_of_their_distributions():
    stream, n = one_stream(5, GOLDEN), 40_000
    error = 5 / math.sqrt(n)
    assert np.mean([stream.random() for _ in range(n)]) == pytest.approx(0.5, abs=error / math.sqrt(12))
    assert np.mean([stream.exponential(2.0) for _ in range(n)]) == pytest.approx(2.0, abs=2 * error)
    normal = [stream.normal(3.0, 2.0) for _ in range(n)]
    assert np.mean(normal) == pytest.approx(3.0, abs=2 * error)
    assert np.std(normal) == pytest.approx(2.0, abs=2 * error)
    counts = np.bincount([stream.integers(8) for _ in range(n)], minlength=8)
    assert len(counts) == 8
    assert np.abs(counts - n / 8).max() < 5 * math.sqrt(n / 8)


class DrawKind(IntEnum):
    DRAW = 0


class Draws(EventModel):
    """Every entity keeps a row of draws of each kind."""

    name = "draws"
    Kind = DrawKind
    entity = np.dtype(
        [
            ("uniform", "f8", (64,)),
            ("normal", "f8", (64,)),
            ("exponential", "f8", (64,)),
            ("integer", "i8", (64,)),
        ]
    )
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, state, schedule, rng):
        schedule(np.arange(self.n_entities), 0.0, DrawKind.DRAW)

    @handles(DrawKind.DRAW)
    def draw(me, event, sim):
        for k in range(64):
            me.uniform[k] = sim.random()
            me.normal[k] = sim.normal(0.5, 2.0) + sim.normal()
            me.exponential[k] = sim.exponential(3.0) + sim.exponential()
            me.integer[k] = sim.integers(1_000_003 + k)
        sim.emit(sim.me, 1.0, DrawKind.DRAW)


@pytest.fixture(scope="module")
def drawn():
    """State of 200 entities after three rounds of 64 draws of each kind, interpreted and compiled."""
    found = {}
    for scheduler in ("python", "serial"):
        engine = make_engine(Draws(200, 0), scheduler)
        engine.reset(9)
        for _ in range(3):
            engine.step(np.zeros((0, 1)), np.zeros(0, bool))
        found[scheduler] = engine.capture()
    return found


@pytest.mark.parametrize("kind", ["uniform", "normal", "exponential", "integer"])
def test_compiled_draws_are_the_interpreted_ones_bit_for_bit(drawn, kind):
    a, b = (drawn[scheduler].state[kind] for scheduler in ("python", "serial"))
    assert a.tobytes() == b.tobytes()


def test_compiled_streams_stand_where_the_interpreted_ones_do(drawn):
    np.testing.assert_array_equal(drawn["python"].stream, drawn["serial"].stream)


def test_a_handlers_draws_are_its_entitys_stream_in_order(drawn):
    start, gamma = streams(9, 200)
    stream = Stream(start, gamma, 123)
    for _ in range(3):
        expected = []
        for k in range(64):
            expected.append(stream.random())
            for _ in range(2):
                stream.normal()
            for _ in range(2):
                stream.exponential()
            stream.integers(5 + k)
    np.testing.assert_array_equal(drawn["serial"].state["uniform"][123], expected)
