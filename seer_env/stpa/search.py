"""The guarded search: which thread count makes steps shortest, found by running steps.

It knows no clock and no engine. It names the thread count of the next step, is told what the step took,
and so can be driven by rehearsed steps as well as by an episode's own.

- The lowest rung, one thread, is always measured: more threads have to be seen to be faster.
- It climbs from where it starts, by rungs of the ladder, and goes only where a neighbour has been faster.
- Candidates take turns in short blocks of steps, forth and back, so that a slow moment of the machine or a
  world whose steps grow hits them alike. A candidate is judged by the median of its blocks, but for a start
  that is to be kept if it can be.
- A candidate that is clearly slower is left out; a block that goes badly is cut short.
- Ties go to the count that a predictor favours, else to fewer threads.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator, Iterable, Sequence

__all__ = ["BLOCK_S", "MOST_ROUNDS", "TIE", "UNSHARED_S", "GuardedSearch"]

#: A block lasts at least this long, and at least one step: long against a wake-up and against the clock.
BLOCK_S = 4e-3
#: Short steps on another count than the last block's first warm up, with more threads for so long: workers
#: have slept, and a core that a hypervisor has put to sleep takes a millisecond to be back.
WARM_S = 2e-3
#: A step shorter than this holds nothing that is worth waking a second worker for.
UNSHARED_S = 20e-6
#: Blocks of a candidate before it can be judged, and before it counts as measured well enough. Judged by one
#: block, a candidate would be lost to a core that was taken away once.
CLIMB_ROUNDS, MOST_ROUNDS = 3, 16
#: A candidate that is slower than the best by more than this, over its number of blocks, is left out: by 20 %
#: after three blocks, by 6 % after ten.
CLEARLY = 0.6
#: A block whose steps take this many times those of the best is cut short.
FAR = 1.5
#: Medians that differ by less are equal.
TIE = 0.02


class GuardedSearch:
    """One search. Ask `threads`, run a step, tell `stepped`, until `finished`; `choice` holds at any time.

    Args:
        ladder: thread counts in rising order.
        start: the count to start from, on the ladder.
        rounds: blocks per candidate at the end.
        keep: fewer threads than the start's are chosen only if faster by more than this share than the start
            in the better of its blocks, of which it has all before that is decided: a core that is taken away
            meanwhile makes more threads slower, and nothing makes them faster.
        favoured: a number of threads, not always whole: of candidates as fast as each other, the nearest to
            it by ratio is the choice. With 1, the fewest threads are.

    Attributes:
        threads: the count that the next step is to run on.
        finished: whether there is nothing left to measure.
        blocks: by count, mean seconds per step of each block.
        steps: steps told of.
    """

    def __init__(
        self,
        ladder: Sequence[int],
        start: int,
        rounds: int = MOST_ROUNDS,
        keep: float = 0.0,
        favoured: float = 1.0,
    ):
        self.blocks: dict[int, list[float]] = {count: [] for count in ladder}
        self.steps = 0
        self.finished = False
        self._ladder, self._start, self._rounds = tuple(ladder), start, rounds
        self.keep, self.favoured = keep, favoured
        self._program = self._search()
        self._last = 0
        self.threads = start
        self._advance(None)

    def stepped(self, seconds: float) -> None:
        """Tell what the step on `threads` took."""
        self.steps += 1
        self._advance(seconds)

    @property
    def choice(self) -> int:
        """Of those whose median is within `TIE` of the best, the favoured; the start before any comparison.

        And the start instead of fewer threads that are not faster than it by more than `keep`.
        """
        if self.unshared:
            return 1
        if len(self.medians) < 2:
            return self._start
        best = min(self._equal(), key=lambda count: (abs(math.log2(count / self.favoured)), count))
        return best if self.gain_on_start(best) is None else self._start

    def gain_on_start(self, fewer: int) -> float | None:
        """How much faster fewer threads are than the start, where that is too little for them to be chosen.

        The start is judged by the lower quartile of its blocks.
        """
        blocks, medians = sorted(self.blocks.get(self._start, [])), self.medians
        if self.keep == 0.0 or fewer >= self._start or not blocks:
            return None
        gain = blocks[len(blocks) // 4] / medians[fewer] - 1.0
        return gain if gain <= self.keep else None

    @property
    def medians(self) -> dict[int, float]:
        """Seconds per step of the candidates measured so far."""
        return {count: statistics.median(blocks) for count, blocks in self.blocks.items() if blocks}

    def __getstate__(self) -> dict:
        """A copy keeps what was measured; it cannot go on."""
        return {**self.__dict__, "_program": None, "finished": True, "threads": self.choice}

    @property
    def unshared(self) -> bool:
        """Whether steps on one thread have been seen to be too short to share."""
        return min(self.blocks.get(1, []), default=UNSHARED_S) < UNSHARED_S

    @property
    def rivals(self) -> tuple[int, ...]:
        """The choice, and the candidates that may yet turn out to be as good."""
        if self.unshared:
            return (1,)
        return tuple(count for count in self._contenders() if not self._clearly_slower(count))

    # -- the search --------------------------------------------------------------------------------

    def _advance(self, seconds: float | None) -> None:
        try:
            self.threads = self._program.send(seconds)  # type: ignore[arg-type]  # None starts it
        except StopIteration:
            self.finished, self.threads = True, self.choice

    def _search(self) -> Generator[int, float, None]:
        unmeasured = True
        while unmeasured:
            yield from self._race(self._contenders(), CLIMB_ROUNDS)
            if self.unshared:
                return
            unmeasured = any(not self.blocks[count] for count in self._contenders())
        while len(rivals := self.rivals) > 1 and len(self.blocks[self.choice]) < self._rounds:
            yield from self._race(rivals, min(len(self.blocks[count]) for count in rivals) + 1)

    def _contenders(self) -> tuple[int, ...]:
        """The fewest threads, the choice, and neighbours on the ladder of the fewest that are as good as any.

        Where many threads are all as good as each other, fewer may be better, as more can hardly be.
        """
        at = self._ladder.index(min(self._equal(), default=self.choice))
        kept = {self._start} if self.keep > 0.0 else set()
        return tuple(sorted({self._ladder[0], self.choice, *kept, *self._ladder[max(0, at - 1) : at + 2]}))

    def _equal(self) -> list[int]:
        """The candidates whose median is within `TIE` of the best."""
        medians = self.medians
        good = (1.0 + TIE) * min(medians.values(), default=0.0)
        return [count for count, median in medians.items() if median <= good]

    def _race(self, contenders: Iterable[int], rounds: int) -> Generator[int, float, None]:
        """Give every contender blocks, in turn, until each has as many as asked for."""
        contenders = [count for count in contenders if len(self.blocks[count]) < rounds]
        contenders.sort(key=lambda count: count != self._start)
        turn = 0
        while contenders:
            for count in contenders if turn % 2 == 0 else reversed(contenders):
                yield from self._block(count)
                if self.unshared:
                    return
            contenders = [
                c for c in contenders if len(self.blocks[c]) < rounds and not self._clearly_slower(c)
            ]
            turn += 1

    def _block(self, count: int) -> Generator[int, float, None]:
        """Steps on `count` threads; the first short ones after a change of count are only to warm up."""
        seconds = yield count
        if count != self._last and seconds < BLOCK_S:
            warm = seconds
            while count > self._last and warm < WARM_S:
                warm += yield count
            seconds = yield count
        self._last = count
        spent, steps = seconds, 1
        best = min(self.medians.values(), default=float("inf"))
        while spent < BLOCK_S and not (steps >= 3 and spent > FAR * steps * best):
            spent += yield count
            steps += 1
        self.blocks[count].append(spent / steps)

    def _clearly_slower(self, count: int) -> bool:
        blocks = self.blocks[count]
        least = self._rounds if self.keep > 0.0 and count == self._start else CLIMB_ROUNDS
        if len(blocks) < least or count == self.choice:
            return False
        best = min(self.medians.values())
        return statistics.median(blocks) > (1.0 + CLEARLY / len(blocks)) * best
