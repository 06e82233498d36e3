"""An experiment that measures nothing real: every value is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from seer_env.bench.experiment import Claim, Contender, Experiment, Group

SLOW, FAST = Contender("slow"), Contender("fast", 2)


@dataclass
class Counting(Experiment):
    """Two groups; `slow` measures 10, 20, 30 ..., `fast` half of it."""

    name: ClassVar[str] = "counting"
    columns: ClassVar[Mapping[str, str]] = {"ms": ".1f", "gain": ".2f"}
    order: ClassVar[list[str]] = []
    #: Raised in the place of this measurement of all.
    interrupt_at: ClassVar[int | None] = None
    digests: ClassVar[tuple[int, int]] = (7, 7)

    size: int = 3
    """Part of the work."""

    def groups(self):
        return [Group(name, self.make, {"size": self.size}) for name in ("a", "b")]

    def make(self, stack):
        count = {SLOW: 0, FAST: 0}
        stack.callback(self.order.append, "closed")

        def measure(contender):
            if self.interrupt_at == len(self.order):
                raise KeyboardInterrupt
            self.order.append(contender.name)
            count[contender] += 1
            ms = 10.0 * count[contender] / contender.threads
            return {"ms": ms, "digest": self.digests[contender.threads - 1]}

        return {contender: lambda c=contender: measure(c) for contender in (SLOW, FAST)}

    def derived(self, results, group, contender):
        return {"gain": results.ratio(group.name, SLOW, contender, "ms")}

    def claims(self, results):
        return [Claim("fast is twice as fast", results.ratio("a", SLOW, FAST, "ms"), "at least", 2.0)]

    def draw(self, results, figure):
        figure.subplots().plot([results.median("a", SLOW, "ms")])
