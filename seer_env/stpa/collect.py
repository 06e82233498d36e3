"""Real sweeps: every candidate steps its own copy of the same episode, in turn, and is timed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from seer_env.actions import ActionReader
from seer_env.bench.timing import interleaved
from seer_env.machine import effective_cpus
from seer_env.model import EventModel
from seer_env.runtime.engine import make_engine
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.stpa.dataset import SERIAL, Configuration, Profile, Sweep
from seer_env.stpa.features import static_features
from seer_env.stpa.plan import build
from seer_env.stpa.trace import record

__all__ = ["Player", "sweep"]

#: Seconds of steps before anything is measured, and at least so many: the engine learns what sharing is
#: worth, and a world leaves its beginning behind. Seconds of one measurement. Neither is of more steps.
WARM_UP_S, WARM_UP_STEPS, MEASURE_S, MOST_STEPS = 0.02, 6, 0.008, 500
#: An episode begins anew when fewer than this share of the agents live.
LIVING = 0.9
#: Blocks of random actions that are taken in turn.
BLOCKS = 4


class Player:
    """One candidate's episode: a world, an engine, random actions that depend on the seed alone."""

    def __init__(self, model: EventModel, threads: int, seed: int):
        scheduler = "serial" if threads == SERIAL else "seer"
        engine = make_engine(model, scheduler, max(1, threads))
        assert isinstance(engine, CompiledEngine)
        self.engine = engine
        self.seconds = 0.0
        self._seed, self._model = seed, model
        reader, rng = ActionReader(model), np.random.default_rng(seed)
        agents = model.n_agents > 0
        empty = np.zeros((0, model.action_size))
        self._actions = [reader.sample(rng) if agents else empty for _ in range(BLOCKS)]
        self.begin()

    def begin(self) -> None:
        """Begin the episode."""
        self.engine.reset(self._seed)
        self._live = np.ones(self._model.n_agents, bool)

    def step(self) -> None:
        """One step, whose time is added to `seconds`; those that terminated act no more."""
        actions, live = self._actions[self.engine.steps % BLOCKS], self._live
        begun = time.perf_counter()
        outputs = self.engine.step(actions, live)
        self.seconds += time.perf_counter() - begun
        if np.count_nonzero(outputs.terminated):
            self._live = live & ~outputs.terminated

    def measure(self, steps: int) -> float:
        """Mean seconds of some steps, of a new episode where many have died."""
        if np.count_nonzero(self._live) < LIVING * self._model.n_agents:
            self.begin()
            self.step()
        self.seconds = 0.0
        for _ in range(steps):
            self.step()
        return self.seconds / steps


def sweep(configuration: Configuration, candidates: Sequence[int], turns: int = 6) -> Sweep:
    """Measure a configuration under every candidate, `turns` times in turn.

    All candidates step the same episode. The trace is recorded with as many threads as there are
    effective CPUs, as preflight does.
    """
    model = build(configuration)
    players = {k: Player(model, k, configuration.seed) for k in candidates}
    serial, traced = players[SERIAL], players[max(1, min(effective_cpus(), max(candidates)))]
    serial.step()  # loads code
    estimate = serial.measure(2)
    warm_up = min(MOST_STEPS, max(WARM_UP_STEPS, math.ceil(WARM_UP_S / estimate)))
    steps = min(MOST_STEPS, max(1, math.ceil(MEASURE_S / estimate)))
    for player in players.values():
        player.begin()
        player.measure(warm_up)
    pending = traced.engine.n_pending
    trace = record(traced.engine, traced.step)
    _catch_up(list(players.values()))
    profile = _profile(serial, min(steps, 20))
    _catch_up(list(players.values()))
    seconds = interleaved({k: partial(p.measure, steps) for k, p in players.items()}, turns)
    threads = traced.engine.threads
    for player in players.values():
        player.engine.close()
    measured = np.array([seconds[k] for k in candidates]).T
    static = static_features(model, pending, threads)
    return Sweep(configuration, False, static, profile, tuple(candidates), measured, trace)


def _catch_up(players: list[Player]) -> None:
    """Step those that are behind until all stand at the same boundary."""
    furthest = max(player.engine.steps for player in players)
    for player in players:
        while player.engine.steps < furthest:
            player.step()


def _profile(serial: Player, steps: int) -> Profile:
    stats = []
    for _ in range(steps):
        serial.step()
        stats.append(serial.engine.stats)
    figures = [(s.events, s.rounds, s.window_s, s.outputs_s) for s in stats]
    return Profile(*np.mean(figures, axis=0).tolist())
