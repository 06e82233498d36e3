"""The claims and mailboxes of `runtime/schedulers/static_binding.py` as model programs.

Each method mirrors the function of its name, access by access; a mutant overrides one method.
"""

from __future__ import annotations

from model.access import compare_and_swap, count, load, mark, plain_load, plain_store, recall, require, store
from model.pool import Pool

#: The kind of phase whose items are parts.
EXECUTE = 2


class Binding(Pool):
    """Workers whose parts are bound to them; part p mails one letter to every other part per window.

    `absent` are workers that never enter.
    """

    def __init__(self, *plan, parts: int, absent: tuple[int, ...] = ()):
        super().__init__(*plan, parts=parts)
        self.absent = absent

    def words(self) -> dict:
        words = super().words()
        for p in range(self.parts):
            words[f"TAKEN{p}"], words[f"PRESENT{p}"] = 0, 0
            for q in range(self.parts):
                words[f"MAIL{p}{q}0"] = words[f"MAIL{p}{q}1"] = -1
        return words

    def programs(self):
        """One program per worker that enters."""
        return [self.program_of(w) for w in range(self.parts) if w not in self.absent]

    def program_of(self, w):
        return lambda: self.main(w)

    def main(self, w):
        """Mirrors `static_binding_main`."""
        yield store(f"PRESENT{w}", 1)
        yield from self.work_as(w)
        yield store(f"PRESENT{w}", 0)
        return 0

    def work_as(self, w):
        """Mirrors `worker.work` with `claim_part`."""
        phase = yield from self.read_phase()
        while True:
            kind = yield load("KIND")
            total = yield load("TOTAL")
            grain = yield load("GRAIN")
            if kind == 9 and (yield load("PHASE")) == phase:
                return
            first, last = yield from self.claim_part(w, phase, kind, total, grain)
            del grain
            if first == last:
                del kind, total, first, last
                yield from self.wait_for_phase(phase)
                phase = yield from self.read_phase()
                continue
            items = last - first
            yield from self.perform(kind, first, last)
            if kind == EXECUTE:
                yield from self.run_part(first)
            del kind, first, last
            if (yield from self.count_done(items, total)):
                del total, items
                yield from self.transition()
                phase = yield from self.read_phase()

    def claim_part(self, w, phase, kind, total, grain):
        """Mirrors `claim_part`."""
        if kind != EXECUTE:
            return (yield from self.claim(w, phase, total, grain))
        if not (yield from self.is_open(phase)):
            return 0, 0
        if (yield from self.take(w, phase)):
            return w, w + 1
        p = 0
        while p < total:
            if (yield from self.may_take_over(p)) and (yield from self.take(p, phase)):
                return p, p + 1
            p += 1
        return 0, 0

    def may_take_over(self, p):
        """`load(words, PRESENT) == 0`."""
        return (yield load(f"PRESENT{p}")) == 0

    def take(self, p, phase):
        """Mirrors `take`."""
        seen = yield load(f"TAKEN{p}")
        return seen < phase and (yield compare_and_swap(f"TAKEN{p}", seen, phase)) == seen

    def run_part(self, p):
        """Empty the boxes of the other parity, and write one letter per box of this one: the phase."""
        now = yield recall("phase")
        first = now == 0 or self.plan[now - 1].kind != EXECUTE
        q = 0
        while q < self.parts:
            box = f"MAIL{q}{p}{self.drained(now)}"
            letter = yield plain_load(box)
            expected = -1 if first else now - 1
            require(letter == expected, f"part {p} found letter {letter} of part {q} in phase {now}")
            yield plain_store(box, -1)
            box = f"MAIL{p}{q}{now % 2}"
            require((yield plain_load(box)) == -1, f"part {p} overwrote a letter to part {q}")
            yield plain_store(box, now)
            q += 1
        require((yield count(("run", now, p))) == 0, f"part {p} ran twice in phase {now}")
        yield mark(("by", now, p), 1)

    def drained(self, now):
        """The parity that phase `now` empties."""
        return 1 - now % 2
