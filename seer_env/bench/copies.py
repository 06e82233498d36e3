"""Copies in one engine beside as many envs stepped one after the other, with the same seeds and actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from seer_env.bench.cores import worth_of_second_core
from seer_env.bench.report import print_table
from seer_env.bench.timing import interleaved, machine, medians
from seer_env.registration import make

__all__ = ["CASES", "Case", "compare_copies", "print_copies"]

#: Steps of an episode: both contenders play the same ones again and again, from the same resets.
EPISODE = 100


class Case(NamedTuple):
    """A world of `agents` agents, `copies` times, on `threads` threads."""

    world: str
    agents: int
    copies: int
    threads: int


CASES = tuple(
    Case(world, agents, copies, threads)
    for world, agents, copies in (
        ("flock_v0", 50, 8),
        ("flock_v0", 500, 8),
        ("flock_v0", 500, 32),
        ("aircraft_v0", 100, 8),
    )
    for threads in (1, 2)
)


def compare_copies(
    case: Case,
    repeats: int = 7,
    seconds: float = 0.3,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
) -> dict:
    """`step_arrays` of copies and of separate envs, measured in turn; milliseconds of a step of all.

    Args:
        case: what to measure; one thread is `serial`, more are `seer`.
        repeats: measurements of each.
        seconds: wall seconds per measurement.
        seed: of the worlds and of the actions.
        done: called after every measurement.

    Returns:
        The case's fields with `yardstick_ms` (separate envs), `seer_ms` (copies), `ratio` of the second to
        the first, `agent_steps_per_s` of the copies, `equal` (all digests were) and `second_core`.
    """
    pair = Pair(case, seed)
    equal = pair.equal_after_an_episode()
    cases = {
        "separate": lambda: seconds_per_step(pair.reset_envs, pair.step_envs, seconds),
        "copies": lambda: seconds_per_step(pair.reset_copies, pair.step_copies, seconds),
        "second core": worth_of_second_core,
    }
    times = medians(interleaved(cases, repeats, done))
    pair.close()
    return {
        "measure": "copies",
        **case._asdict(),
        "yardstick_ms": 1e3 * times["separate"],
        "seer_ms": 1e3 * times["copies"],
        "ratio": times["copies"] / times["separate"],
        "agent_steps_per_s": case.copies * case.agents / times["copies"],
        "equal": equal,
        "second_core": times["second core"],
    }


def seconds_per_step(reset: Callable[[], object], step: Callable, at_least_s: float) -> float:
    """Mean wall seconds of a step, over as many episodes as fill `at_least_s`; resets are not counted."""
    elapsed, episodes = 0.0, 0
    while elapsed < at_least_s:
        reset()
        start = time.perf_counter()
        for k in range(EPISODE):
            step(k)
        elapsed += time.perf_counter() - start
        episodes += 1
    return elapsed / (episodes * EPISODE)


class Pair:
    """Copies, and envs that start from the same seeds and are given the same actions."""

    def __init__(self, case: Case, seed: int):
        how: dict[str, Any] = {
            "n_agents": case.agents,
            "threads": case.threads,
            "scheduler": "serial" if case.threads == 1 else "seer",
        }
        self._seed = seed
        self._copies = make(case.world, copies=case.copies, **how)
        self._envs = [make(case.world, **how) for _ in range(case.copies)]
        shape = (EPISODE, case.copies, case.agents, self._copies.model.action_size)
        # Legal in the worlds of `CASES`.
        self._actions = np.random.default_rng(seed).uniform(-1.0, 1.0, shape).astype(np.float32)

    def reset_envs(self) -> None:
        """Start an episode in every env."""
        for i, env in enumerate(self._envs):
            env.reset_arrays(self._seed + i)

    def reset_copies(self) -> None:
        """Start an episode in every copy."""
        self._copies.reset_arrays(self._seed)

    def step_envs(self, k: int) -> None:
        """The k-th step of every env, one after the other."""
        for env, actions in zip(self._envs, self._actions[k]):
            env.step_arrays(actions)

    def step_copies(self, k: int) -> None:
        """The k-th step of all copies."""
        self._copies.step_arrays(self._actions[k])

    def equal_after_an_episode(self) -> bool:
        """Play an episode; whether every copy then has its env's digest."""
        self.reset_envs()
        self.reset_copies()
        for k in range(EPISODE):
            self.step_envs(k)
            self.step_copies(k)
        return all(self._copies.digest(i) == env.digest() for i, env in enumerate(self._envs))

    def close(self) -> None:
        """Release the engines."""
        self._copies.close()
        for env in self._envs:
            env.close()


def print_copies(rows: Sequence[dict]) -> None:
    """Print the rows of `compare_copies` as a table."""
    columns = (
        "world",
        "agents",
        "copies",
        "threads",
        "envs, ms",
        "copies, ms",
        "gain",
        "M agents/s",
        "2nd core",
    )
    lines = [
        (
            r["world"],
            f"{r['agents']}",
            f"{r['copies']}",
            f"{r['threads']}",
            f"{r['yardstick_ms']:.3f}",
            f"{r['seer_ms']:.3f}",
            f"{1.0 / r['ratio']:.2f}",
            f"{r['agent_steps_per_s'] / 1e6:.2f}",
            f"{r['second_core']:.2f}",
        )
        for r in rows
    ]
    print_table(
        "Copies in one engine beside envs stepped one by one", columns, lines, f"medians; {machine()}"
    )
