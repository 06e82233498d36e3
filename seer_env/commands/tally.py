"""Counts and times of a run's steps, and the table made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

#: Parts of a step in the order in which they happen, and what each is.
PARTS = {"actions_s": "actions in", "window_s": "window (events)", "outputs_s": "outputs", "dicts_s": "dicts"}


@dataclass
class Tally:
    """Sums over the steps of a run; times in seconds.

    Attributes:
        steps, agent_steps, episodes: env steps, their live agents, and episodes begun.
        events, rounds, shared_rounds: executed events and safe windows; those shared among threads.
        policy_s: choosing actions, outside the steps.
        step_s: whole steps; `actions_s`, `window_s`, `outputs_s`, `dicts_s` are its parts.
    """

    steps: int = 0
    agent_steps: int = 0
    episodes: int = 0
    events: int = 0
    rounds: int = 0
    shared_rounds: int = 0
    policy_s: float = 0.0
    step_s: float = 0.0
    actions_s: float = 0.0
    window_s: float = 0.0
    outputs_s: float = 0.0
    dicts_s: float = 0.0

    def add(self, live: int, policy_s: float, step_s: float, stats: Any) -> None:
        """Count one step of `live` agents; `stats` is the env's `last_step_stats`."""
        self.steps += 1
        self.agent_steps += live
        self.policy_s += policy_s
        self.step_s += step_s
        for name in ("events", "rounds", "shared_rounds", *PARTS):
            setattr(self, name, getattr(self, name) + getattr(stats, name))

    def figures(self) -> dict[str, float]:
        """Sums and rates as JSON numbers; rates are over time spent in steps."""
        sums = {field.name: getattr(self, field.name) for field in fields(self)}
        rates = {
            "steps_per_s": _rate(self.steps, self.step_s),
            "agent_steps_per_s": _rate(self.agent_steps, self.step_s),
            "events_per_s": _rate(self.events, self.step_s),
            "events_per_step": _rate(self.events, self.steps),
        }
        return {**rates, **sums}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Lines of the table: `(what, figure)`."""
        figures = self.figures()
        yield "steps", f"{self.steps:,} in {self.step_s:.3f} s, {self.episodes} episode(s)"
        yield "steps/s", f"{figures['steps_per_s']:,.1f}"
        yield "agent-steps/s", f"{figures['agent_steps_per_s']:,.0f}"
        yield "events/s", f"{figures['events_per_s']:,.0f}"
        yield "events per step", f"{figures['events_per_step']:,.1f}"
        yield (
            "rounds per step",
            f"{_rate(self.rounds, self.steps):,.1f}, {self.shared_rounds:,} shared in all",
        )
        for name, label in (*PARTS.items(), ("other_s", "other")):
            seconds = self.other_s if name == "other_s" else getattr(self, name)
            share = 100 * _rate(seconds, self.step_s)
            yield f"time in a step: {label}", f"{1e6 * _rate(seconds, self.steps):,.0f} us ({share:.0f} %)"
        yield "between steps: policy", f"{1e6 * _rate(self.policy_s, self.steps):,.0f} us"

    @property
    def other_s(self) -> float:
        """Time in steps that belongs to no part."""
        return max(0.0, self.step_s - sum(getattr(self, name) for name in PARTS))


def _rate(amount: float, per: float) -> float:
    return amount / per if per else 0.0
