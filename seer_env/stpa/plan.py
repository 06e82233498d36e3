"""Which configurations `seer-env stpa collect` measures: a random plan over worlds, costs and sizes.

Configuration `i` depends on `i` alone, so that collecting can stop anywhere and go on later. Sizes and costs
are log-uniform: a world ten times as large is as likely anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seer_env.model import EventModel
from seer_env.stpa.dataset import Configuration

__all__ = ["WORLDS", "build", "configuration"]

#: Where the models are. PHOLD stands for worlds of one's own: costs, communication and lookahead are free.
WORLDS = {
    "phold": "seer_env.envs.phold:Phold",
    "flock": "seer_env.envs.flock_v0:Flock",
    "aircraft": "seer_env.envs.aircraft_v0:model",
    "pcs": "seer_env.envs.pcs_v0:model",
    "battle": "seer_env.envs.battle_v0:model",
    "epidemic": "seer_env.envs.epidemic_v0:Epidemic",
}
#: Worlds of successive configurations: PHOLD every other time.
_TURN = ("phold", "flock", "phold", "aircraft", "phold", "pcs", "phold", "battle", "phold", "epidemic")
#: About what an event costs beside its work, nanoseconds, and an iteration of PHOLD's work: for choosing
#: windows of a wanted length, nothing else.
_EVENT_NS, _ITERATION_NS = 80.0, 2.4


def configuration(index: int) -> Configuration:
    """The plan's configuration `index`, from 0."""
    rng = np.random.default_rng((index, 20_260_101))
    world = _TURN[index % len(_TURN)]
    size, arguments = _DRAW[world](rng)
    return Configuration(index, world, size, arguments, int(rng.integers(1 << 31)))


def build(configuration: Configuration) -> EventModel:
    """The configuration's model."""
    from seer_env.entry_points import load

    name = "n" if configuration.world == "phold" else "n_agents"
    return load(WORLDS[configuration.world])(**{name: configuration.size}, **configuration.arguments)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.4g}")


def _phold(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    population = int(rng.integers(1, 9))
    work = 0 if rng.random() < 0.3 else int(_log_uniform(rng, 10, 20_000))
    lookahead = 0.0 if rng.random() < 0.1 else _log_uniform(rng, 0.01, 2.0)
    mean, remote = _log_uniform(rng, 0.1, 2.0), round(float(rng.uniform()), 3)
    per_entity = population * _log_uniform(rng, 0.2, 20.0)  # events in a step
    events = 1e9 * _log_uniform(rng, 5e-5, 1e-2) / (_EVENT_NS + _ITERATION_NS * work)
    dt = float(f"{per_entity / population * (lookahead + mean):.4g}")
    drawn = {"population": population, "work": work, "lookahead": lookahead, "mean": mean}
    return int(np.clip(events / per_entity, 16, 60_000)), {**drawn, "remote": remote, "dt": dt}


def _flock(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    return int(_log_uniform(rng, 20, 20_000)), {}


def _aircraft(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    communication, complexity = bool(rng.random() < 0.7), int(_log_uniform(rng, 1, 64))
    return int(_log_uniform(rng, 20, 1500)), {"communication": communication, "complexity": complexity}


def _pcs(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    side = 2 * int(_log_uniform(rng, 3, 36))
    communication, complexity = bool(rng.random() < 0.7), int(_log_uniform(rng, 1, 64))
    link_delay = _log_uniform(rng, 0.1, 2.0)
    drawn = {"communication": communication, "complexity": complexity, "link_delay": link_delay}
    return side * side, {**drawn, "dt": _log_uniform(rng, 2.0, 20.0), "warm": False}


def _battle(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    return 2 * int(_log_uniform(rng, 10, 2000)), {}


def _epidemic(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    n, gap = int(_log_uniform(rng, 100, 60_000)), _log_uniform(rng, 2.0, 30.0)
    return n, {"patients": max(1, n // 20), "gap": gap, "illness": _log_uniform(rng, 4.0, 60.0)}


_DRAW: dict[str, Callable[[np.random.Generator], tuple[int, dict[str, Any]]]] = {
    "phold": _phold,
    "flock": _flock,
    "aircraft": _aircraft,
    "pcs": _pcs,
    "battle": _battle,
    "epidemic": _epidemic,
}
