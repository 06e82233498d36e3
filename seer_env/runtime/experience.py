"""Two ways to do a thing, alone or shared, and which of them has lately been sooner.

The things are the phases of a kind, and whole steps. Each is a *row*, and those of a row with about as many
items are *alike* (`likeness`). Both ways are tried now and then; what they took is kept as sums that fade.

A step may have many rounds, the first heavy and the last light. So a row changes its way at the beginning of
a *stretch* alone, which is a step, or part of a long one: what is compared are whole steps.
"""

from __future__ import annotations

from numba import int64

from seer_env.runtime.layout import JUDGED, LIKENESSES
from seer_env.runtime.leq import kernel
from seer_env.runtime.phases import ACT, EXECUTE, OBSERVE

#: The row of whole steps, behind those of kinds of phase.
STEP = JUDGED - 1
#: The most phases of a stretch.
STRETCH = 64
#: So many are tried alone, then as many as patience says are done whichever way has been sooner, so many are
#: tried shared, and again as many as patience says are done the sooner way. Each such round doubles the
#: patience, as long as that does not change which way is sooner.
RUN, PATIENCE, MOST_PATIENCE = 16, 64, 6_400
#: The parts of such a round.
AFTER_SHARED, TRY_ALONE, AFTER_ALONE, TRY_SHARED = range(4)
#: But after so much work at the latest: what one try has misjudged must not last.
EXPLORE_NS = 2.5e8
#: Where that takes long, tries are shorter: beside the work between two of them, one in so many at most.
SHORTEST_RUN, TRIED_SHARE = 6, 40
#: Where steps are done alone, no phase is tried. So when they are tried shared, all phases are, for a run.
FORCED = RUN + 1
#: Stretches until a kind of phase may try: whole steps come first. And until another one may, should the
#: phases of one that tries have ceased to come.
FIRST, TRYING = 60, 64
#: A phase is done alone if it is sooner by this factor so. What one worker has touched alone is in its cache
#: and dear to the next phase that is shared, which the phase's own time does not show. Whole steps show it.
CLEARLY_SOONER = 1.2
#: Phases that go by until a change of way shows what it is worth, at least. Of a world's first ones, whose
#: memory nobody has touched yet, `RUN`.
SETTLED_IN = 3
#: Sums fade within so much time; those of a run before count as one phase.
LASTING_NS = 1e7
#: A step counts as at most so much longer than expected, a phase as at most twice as long: about what a core
#: is taken away for, which steps have to bear, and phases can do nothing about. So does a step in a run
#: shorter than this, which one of that kind would decide.
TAKEN_NS, SURE = 4e6, 64


@kernel
def likeness(row, total):
    """Index of phases of one kind, or of steps, with about as many items."""
    size = int64(0)
    while total > 1 and size < LIKENESSES // JUDGED - 1:
        total >>= 1
        size += 1
    return row * (LIKENESSES // JUDGED) + size


@kernel
def row_of(kind):
    """Row of a kind whose sharing is decided by experience, or -1."""
    return 0 if kind == EXECUTE else 1 if kind == ACT else 2 if kind == OBSERVE else -1


@kernel
def begin_stretches(control):
    """A step begins: every row may change its way."""
    control.since[:] = 0
    control.choices, control.tries = 0, 0
    control.waited += 1
    control.forced = max(int64(0), control.forced - 1)


@kernel
def chosen(control, row, k, at_most):
    """Whether the next one of this row, which is like k, is to be shared; noted.

    Both ways are tried again after `at_most` of them, or `PATIENCE` if those are more.
    """
    fresh = control.since[row] % STRETCH == 0
    if fresh:
        control.waited += control.since[row] > 0
        control.stretch[row] += 1
        if row == STEP or control.forced == 0:
            next_part(control, row, at_most)
    control.since[row] += 1
    control.turns[row] += row == STEP or control.forced == 0
    shared = way(control, row, k)
    if row != STEP:
        control.choices += 1
        control.tries += shared != control.sooner[k]
    if shared == control.last_shared[row]:
        control.streak[row] += 1
    else:
        control.last_shared[row], control.streak[row], control.settled[row] = shared, 1, 0
        control.run[row] += 1
    warm = fresh and control.streak[row] > SETTLED_IN and control.patience[row] > 0
    if warm or control.streak[row] > RUN:
        control.settled[row] = 1
    return shared != 0


@kernel
def next_part(control, row, at_most):
    """At the beginning of a stretch: whether it is time to try a way, or to end a try.

    One kind of phase tries at a time: each takes part in what the others' ways take. Whole steps wait for
    nobody: no phase decides anything in those that are done alone. The first try comes as soon as it may.
    """
    part = control.part[row]
    trying = part in (TRY_ALONE, TRY_SHARED)
    patience = max(min(control.patience[row], at_most), PATIENCE)
    if trying:
        lasts = max(SHORTEST_RUN, min(RUN, at_most // TRIED_SHARE))
    else:
        lasts = patience if control.patience[row] > 0 else 2 * RUN
    if control.turns[row] < lasts:
        return
    if row != STEP:
        if not trying and control.waited < FIRST:
            return
        control.waited = FIRST if trying else FIRST - TRYING
    control.turns[row] = 0
    control.part[row] = (part + 1) % 4
    if row == STEP and control.part[row] == TRY_SHARED and control.last_shared[row] == 0:
        control.forced = FORCED
    if control.part[row] == AFTER_SHARED or control.patience[row] == 0:
        control.patience[row] = min(2 * patience, MOST_PATIENCE)


@kernel
def way(control, row, k):
    """1 if the next one of this row, which is like k, is to be shared; 0 if one worker is to do it alone."""
    if control.judged[k] != control.stretch[row]:
        control.judged[k] = control.stretch[row]
        sooner = sooner_shared(control, k)
        if control.kept[k] == 0:
            control.sooner[k] = sooner
        elif sooner != control.sooner[k] and control.kept[k] > RUN:
            control.sooner[k], control.kept[k], control.patience[row] = sooner, 0, PATIENCE
    control.kept[k] += 1
    if control.part[row] == TRY_SHARED or (control.forced > 0 and row != STEP):
        return int64(1)
    if control.part[row] == TRY_ALONE:
        return int64(0)
    return control.sooner[k]


@kernel
def sooner_shared(control, k):
    """0 if those like k have been done sooner alone; else, or if one way is not known, 1."""
    alone, shared = control.direct_units[k], control.shared_units[k]
    if alone == 0.0 or shared == 0.0:
        return int64(1)
    margin = 1.0 if k >= STEP * (LIKENESSES // JUDGED) else CLEARLY_SOONER
    return int64(1 if control.shared_ns[k] * alone < margin * control.direct_ns[k] * shared else 0)


@kernel
def alone_ns(control, k, units):
    """What so much of what is like k has lately taken one worker, nanoseconds; 0 if that is not known.

    Of a step's rounds the first may be heavy and the last light, so what an event has just cost may say
    little of the next round.
    """
    known = control.direct_units[k]
    return units * control.direct_ns[k] / known if known > 0.0 else 0.0


@kernel
def add_up(control, ns, units, row, k, elapsed, done):
    """Add what took so long to what is known of what is like it.

    Sums, not an average of ratios: rounds of one world may hold one event per entity or twenty, and the
    heavy ones are what sharing is for. The first phases after a change of way do not count, to the end of
    their stretch: alone, a worker fetches what others have in their caches; shared, it waits for them to wake
    up. The next ones soon outweigh what was known before. Then the sums fade slowly; a core that was taken
    away for some milliseconds must not decide the next hundred.
    """
    if control.settled[row] == 0:
        return
    if units[k] > 0.0:
        expected = done * ns[k] / units[k]
        taken = TAKEN_NS if row == STEP and control.streak[row] > SURE else expected
        elapsed = min(elapsed, expected + taken)
    if control.measured[k] != control.run[row]:
        control.measured[k] = control.run[row]
        kept = min(1.0, done / max(units[k], 1.0))
    else:
        kept = max(0.75, 1.0 - elapsed / LASTING_NS)
    ns[k], units[k] = kept * ns[k] + elapsed, kept * units[k] + done
