"""What was measured: values by group, contender, quantity and turn; medians and ratios with intervals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from seer_env.bench.experiment import Contender
from seer_env.bench.timing import median_interval

__all__ = ["PREPARED", "SECOND_CORE", "Measurement", "Median", "Results"]

#: Measured in every turn beside the contenders: what a second core is worth, quantity `worth`.
SECOND_CORE = Contender("second core", 2)
#: What a group's preparation has found, as if measured in the turn before the first.
PREPARED, BEFORE = Contender("prepared", 0), -1


class Measurement(NamedTuple):
    """One value; a line of `measurements.csv`."""

    group: str
    contender: str
    threads: int
    turn: int
    quantity: str
    value: float


class Median(NamedTuple):
    """A median, and the interval of measured values that covers it with probability `coverage`."""

    value: float
    low: float
    high: float
    coverage: float
    turns: int

    @classmethod
    def of(cls, values: list[float]) -> Median:
        """Of at least one value."""
        return cls(statistics.median(values), *median_interval(values), len(values))


class Results:
    """All measurements of an experiment. Turns are complete: all contenders of a group, or none."""

    def __init__(self, measurements: Iterable[Measurement] = ()):
        self._values: dict[tuple[str, Contender, str], dict[int, float]] = defaultdict(dict)
        self._turns: dict[str, int] = defaultdict(int)
        self.add(measurements)

    def add(self, measurements: Iterable[Measurement]) -> None:
        """Add measurements of complete turns."""
        for m in measurements:
            self._values[m.group, Contender(m.contender, m.threads), m.quantity][m.turn] = m.value
            self._turns[m.group] = max(self._turns[m.group], m.turn + 1)

    def turns(self, group: str) -> int:
        """Turns measured of a group."""
        return self._turns.get(group, 0)

    def groups(self) -> list[str]:
        """Names of the groups measured so far, in order."""
        return [group for group, turns in self._turns.items() if turns]

    def prepared(self, group: str) -> dict[str, float]:
        """What the group's preparation found, by quantity; empty before it."""
        return {
            quantity: by_turn[BEFORE]
            for (name, contender, quantity), by_turn in self._values.items()
            if name == group and contender == PREPARED
        }

    def contenders(self, group: str) -> list[Contender]:
        """Contenders of a group, in the order of the first turn."""
        keys = (contender for name, contender, _ in self._values if name == group)
        return [contender for contender in dict.fromkeys(keys) if contender not in (SECOND_CORE, PREPARED)]

    def values(self, group: str, contender: Contender, quantity: str) -> list[float]:
        """Measured values by turn; empty where nothing was measured."""
        return list(self._values.get((group, contender, quantity), {}).values())

    def median(self, group: str, contender: Contender, quantity: str) -> float:
        """Median over the turns; nan where nothing was measured."""
        values = self.values(group, contender, quantity)
        return statistics.median(values) if values else float("nan")

    def ratio(self, group: str, over: Contender, under: Contender, quantity: str) -> float:
        """Median over the turns of `over` divided by `under`, each turn's own; nan without both.

        Both were measured within seconds: what slowed the machine then cancels.
        """
        pairs = list(
            zip(self.values(group, over, quantity), self.values(group, under, quantity), strict=False)
        )
        return statistics.median(a / b for a, b in pairs) if pairs else float("nan")

    def best(self, group: str, contenders: Iterable[Contender], quantity: str) -> Contender:
        """The contender with the least median of those that were measured.

        Raises:
            ValueError: none of them was.
        """
        measured = [c for c in contenders if self.values(group, c, quantity)]
        return min(measured, key=lambda contender: self.median(group, contender, quantity))

    def medians(self) -> Iterator[tuple[str, Contender, str, Median]]:
        """Group, contender, quantity and median of everything measured."""
        for (group, contender, quantity), by_turn in self._values.items():
            yield group, contender, quantity, Median.of(list(by_turn.values()))

    def disagreements(self) -> list[str]:
        """Groups of which contenders ended a turn with different digests."""
        digests: dict[tuple[str, int], set[float]] = defaultdict(set)
        for (group, _, quantity), by_turn in self._values.items():
            if quantity == "digest":
                for turn, value in by_turn.items():
                    digests[group, turn].add(value)
        return list(dict.fromkeys(group for (group, _), seen in digests.items() if len(seen) > 1))
