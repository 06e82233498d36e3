"""Choices of threads that are remembered on disk, beside the compiled code."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from seer_env.files import write_whole
from seer_env.runtime.compile import cache_directory

__all__ = ["Choice", "Choices", "bucket"]

FORMAT = 1
#: Configurations that are kept for one model on one machine: those chosen last.
KEPT = 200
_WARNED: set[Path] = set()


@dataclass(frozen=True)
class Choice:
    """What was chosen for one configuration.

    Attributes:
        configuration: digest of all that the configuration is made of.
        entities, event_cost: log2 buckets of the entities and of an event's nanoseconds.
        threads: the choice.
        step_s: seconds of a step with it.
    """

    configuration: str
    entities: int
    event_cost: int
    threads: int
    step_s: float


def bucket(value: float) -> int:
    """The log2 bucket of a positive number: within a factor of 2 of each other, or neighbours."""
    return round(math.log2(max(value, 1.0)))


class Choices:
    """The choices for one model on one machine: one file, read when asked, written whole or not at all.

    Args:
        machine, model: fingerprints.
    """

    def __init__(self, machine: str, model: str):
        self.path = cache_directory() / "threads" / f"{machine}-{model}.json"

    def recall(self, configuration: str) -> Choice | None:
        """The choice for exactly this configuration, or None."""
        return self._read().get(configuration)

    def similar(self, entities: int, event_cost: int) -> Choice | None:
        """The choice for another configuration with as many entities and as dear events, or None."""
        same = (c for c in self._read().values() if (c.entities, c.event_cost) == (entities, event_cost))
        return next(same, None)

    def remember(self, choice: Choice) -> None:
        """Add a choice, or replace it. What cannot be written is not remembered, and said once."""
        others = [kept for kept in self._read().values() if kept.configuration != choice.configuration]
        self._write([*others[1 - KEPT :], choice])

    def forget(self, configuration: str) -> None:
        """Remove the choice for exactly this configuration, if there is one."""
        choices = self._read()
        if choices.pop(configuration, None) is not None:
            self._write(list(choices.values()))

    def _write(self, choices: list[Choice]) -> None:
        content = {"format": FORMAT, "choices": [asdict(kept) for kept in choices]}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, json.dumps(content, indent=1).encode())
        except OSError as error:
            self._warn(f"the choice of threads cannot be remembered in {self.path} ({error})")

    def _read(self) -> dict[str, Choice]:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._warn(f"remembered choices of threads cannot be read from {self.path} ({error})")
            return {}
        try:
            return dict(_parsed(text))
        except (ValueError, TypeError, KeyError) as error:
            self._warn(f"{self.path} is damaged ({error!r}): choices of threads are made anew")
            return {}

    def _warn(self, text: str) -> None:
        if self.path not in _WARNED:
            _WARNED.add(self.path)
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def _parsed(text: bytes):
    content = json.loads(text)
    if content["format"] != FORMAT:
        return
    for entry in content["choices"]:
        choice = Choice(**entry)
        whole = all(type(v) is int for v in (choice.entities, choice.event_cost, choice.threads))
        if not (whole and choice.threads >= 1 and math.isfinite(choice.step_s) and choice.step_s > 0.0):
            raise ValueError(f"{entry} is no choice")
        yield choice.configuration, choice
