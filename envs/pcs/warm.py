"""The state in which an episode begins: a network that has been working for long, or an empty one."""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.envs.pcs.constants import Kind
from seer_env.envs.pcs.demand import stationary_load
from seer_env.model import Schedule

__all__ = ["start_calls"]

#: Sweeps of power control at the start; each halves the distance to its fixed point or better.
SWEEPS = 20


def start_calls(model: Any, state: np.ndarray, schedule: Schedule, rng: np.random.Generator) -> None:
    """Calls in progress, drawn from the stationary law of a network that blocks nobody.

    Their number in a cell follows Erlang's law: Poisson with the mean of `stationary_load`, cut off at the
    channels. Without memory, a call in progress lasts and stays as a new one does.
    """
    params, n, channels = model.params, model.n_agents, model.channels
    load = stationary_load(
        model.topology,
        model.arrival_rates(0),
        params["duration"],
        params["residence"] if params["mobility"] else np.inf,
    )
    busy = _erlang(load, channels, rng)
    taken = np.arange(channels) < busy[:, None]
    end = rng.exponential(params["duration"], (n, channels))
    stay = rng.exponential(params["residence"], (n, channels))
    degree = np.diff(model.topology.offsets)
    leaves = taken & (stay + params["link_delay"] < end) & (degree > 0)[:, None] & params["mobility"]
    state["busy"] = state["arrived"] = busy
    state["pending"] = leaves.sum(axis=1)
    state["end"] = np.where(taken, end, 0.0)
    state["bound"] = np.where(leaves, rng.integers(0, np.maximum(degree, 1)[:, None], (n, channels)), -1)
    state["gain"][taken] = _gains(params, taken, rng)
    _settle_powers(model, state, taken)
    for chosen, time, kind in ((taken & ~leaves, end, Kind.COMPLETION), (leaves, stay, Kind.HANDOFF_LEAVE)):
        cell, channel = np.nonzero(chosen)
        schedule(cell, time[chosen], kind, channel, end[chosen])


def _erlang(load: np.ndarray, channels: int, rng: np.random.Generator) -> np.ndarray:
    """Calls in progress where `load` Erlang `[N]` meet `channels`; int64 `[N]`."""
    calls = np.arange(channels + 1)
    log_factorial = np.r_[0.0, np.cumsum(np.log(calls[1:]))]
    logarithm = calls * np.log(load)[:, None] - log_factorial
    weight = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    below = np.cumsum(weight, axis=1)
    return (below < rng.random(len(load))[:, None] * below[:, -1:]).sum(axis=1)


def _gains(params: dict[str, Any], taken: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As `radio.draw_gain`, of the channels taken; path by path, as all at once would not fit."""
    across, along = np.zeros(taken.sum()), np.zeros(taken.sum())
    if not params["fading"]:
        return np.ones(len(across))
    for _ in range(params["complexity"]):
        phase = 2.0 * np.pi * rng.random(taken.shape)[taken]  # drawn for all: who is in the air moves no draw
        across += np.cos(phase)
        along += np.sin(phase)
    return (across**2 + along**2) / params["complexity"]


def _settle_powers(model: Any, state: np.ndarray, taken: np.ndarray) -> None:
    """Power control, and announcements, until they agree with each other; needs gains and loads."""
    params, topology = model.params, model.topology
    source = np.repeat(np.arange(len(topology)), np.diff(topology.offsets))
    slot = np.arange(len(source)) - topology.offsets[source]
    gain = np.maximum(state["gain"], 1e-12)
    cap, coupling = state["cap"][:, None], params["coupling"] * params["communication"]
    power = np.where(taken, params["min_power"], 0.0)
    for _ in range(SWEEPS):
        total = power.sum(axis=1)
        near = np.bincount(source, total[topology.neighbours], minlength=len(topology))
        others = params["noise"] + coupling * near
        met = others[:, None] + params["leakage"] * (total[:, None] - power)
        power = np.where(taken, np.clip(params["sir"] * met / gain, params["min_power"], cap), 0.0)
    state["power"], state["transmitted"] = power, power.sum(axis=1)
    if not params["communication"]:
        return
    for name, values in (
        ("load", state["busy"] / model.channels),
        ("queue", state["pending"] / model.channels),
        ("power", state["transmitted"]),
    ):
        heard = values[topology.neighbours]
        state[f"heard_{name}"][source, slot] = heard
        state[f"near_{name}"] = np.bincount(source, heard, minlength=len(topology))
