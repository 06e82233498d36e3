"""Whether a phase is shared: what is remembered of phases, and which way the next one is done.

A phase too small to share is done by one worker while the others sleep on. What it costs to share one
depends on how far apart the cores are, and whether somebody else has one of them, which may change at any
time: experience decides. So it does about whole steps: one in which anything is shared waits for all workers.
"""

from __future__ import annotations

from numba import int64

from seer_env.runtime.layout import JUDGED, LIKENESSES
from seer_env.runtime.leq import kernel
from seer_env.runtime.phases import ACT, EXECUTE, NOTHING, OBSERVE, SETTLE
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import workers_of

#: A phase is shared when its work is worth more than this: a sleeping worker costs a wake-up of
#: several microseconds, and every line it touches moves between cores.
SHARE_NS = 12_000.0
#: And without asking experience when its work is worth more than this beyond the price of moving it.
CLEARLY_NS = 2_000_000.0
#: What it costs at most to move an item, or an event, to a core far away: some lines of 100 to 200 ns each.
MOVE_NS = 1000.0
#: Of so many phases a run is done alone and a run shared, whichever was faster lately; of twice as many each
#: time, as long as that does not change which way is faster.
EXPLORE, RUN, MOST_PATIENCE = 400, 16, 12_800
#: But after so much work at the latest: what one run has misjudged must not last.
EXPLORE_NS = 5e8
#: Row of whole steps, behind those of kinds of phase.
STEP = JUDGED - 1
#: A phase is done alone if it is sooner by this factor so. What one worker has touched alone is in its cache
#: and dear to the next phase that is shared, which the phase's own time does not show. Whole steps show it.
CLEARLY_SOONER = 1.2
#: What stays of the sums of earlier phases with each phase of a try, which count as ten of them at most.
#: Behind a try they fade within so much time.
TRIED, LASTING_NS = 0.9, 1e7
#: A step counts as at most so much longer than expected, a phase as at most twice as long: about what a core
#: is taken away for, which steps have to bear, and phases can do nothing about.
TAKEN_NS = 4e6
#: Phases that go by until a change of way shows what it is worth.
SETTLED_IN = 3
#: The most items of a claim, whatever they are expected to cost: the first heavy ones are a surprise.
MOST_ITEMS = 256


@kernel
def worth_sharing(control, kind, total, cost):
    """Whether to publish a phase: by its work where that is clear, by experience where it is not.

    What it costs to share depends on how far apart the cores are, which may change at any time. So of
    phases of middling work some are done alone and some shared, and the next ones as is faster.
    """
    work = total * cost
    if work <= control.share_ns and total <= MOST_ITEMS:
        return False
    if control.threads == 1:
        return True
    units = work / control.event_cost if kind == EXECUTE else float(total)
    if max(0.0, work - units * MOVE_NS) > control.clearly_ns:
        return True
    if control.solo != 0:
        return False
    if kind not in (EXECUTE, ACT, OBSERVE):
        return True
    row = row_of(kind)
    return chosen(control, row, likeness(row, total), int64(EXPLORE_NS / work))


@kernel
def judge_step(control):
    """Before a step begins: learn what the last one took, and whether this one is to wake the other workers.

    A step that shares a phase waits at its end until every worker has come and gone, which takes milliseconds
    where another process has a core. No phase shows that, whole steps do. Those of much work are worth it
    anyhow; by time, one of the two ways might never count, or none of the steps that waited longest.
    """
    took, done = float(control.left_at - control.begun_at), control.events + control.n_agents
    known = control.left_at != 0 and control.alone != 0
    before = control.solo
    control.left_at, control.solo = 0, 0
    if not known:
        control.streak[STEP] = 0
        return
    if work_of_step(control) > control.clearly_ns:
        return
    if took <= control.share_ns:
        control.solo = before
        return
    k = likeness(STEP, done)
    if before != 0:
        add_up(control, control.direct_ns, control.direct_units, STEP, k, took, done)
    else:
        add_up(control, control.shared_ns, control.shared_units, STEP, k, took, done)
    if not chosen(control, STEP, k, int64(EXPLORE_NS / took)):
        control.solo = 1
    if control.solo != before:
        control.streak[:STEP] = 0


@kernel
def work_of_step(control):
    """What the last step's events, actions and outputs are expected to take one worker, nanoseconds."""
    each = control.action_cost + control.output_cost
    return control.events * control.event_cost + control.n_agents * each


@kernel
def chosen(control, row, k, at_most):
    """`way`, noted."""
    shared = way(control, row, k, at_most)
    control.streak[row] = control.streak[row] + 1 if control.last_shared[row] == shared else 1
    control.last_shared[row] = shared
    return shared != 0


@kernel
def way(control, row, k, at_most):
    """1 if the next one of this row, which is like k, is to be shared; 0 if one worker is to do it alone.

    Both ways are tried again after `at_most` phases, or `EXPLORE` if those are more.
    """
    sooner = sooner_shared(control, k)
    if sooner != control.sooner[k]:
        control.sooner[k], control.patience[row] = sooner, EXPLORE
    patience = max(min(control.patience[row], at_most), EXPLORE)
    control.turns[row] += 1
    if control.turns[row] >= patience:
        control.turns[row], control.patience[row] = 0, min(2 * patience, MOST_PATIENCE)
    turn = control.turns[row]
    if turn < RUN:
        return int64(1)
    if patience // 2 <= turn < patience // 2 + RUN:
        return int64(0)
    return sooner


@kernel
def sooner_shared(control, k):
    """1 if those like k have been done sooner when shared, or not shared yet; else 0."""
    alone, shared = control.direct_units[k], control.shared_units[k]
    if alone == 0.0 or shared == 0.0:
        return int64(1 if shared == 0.0 else 0)
    margin = 1.0 if k >= STEP * (LIKENESSES // JUDGED) else CLEARLY_SOONER
    return int64(1 if control.shared_ns[k] * alone < margin * control.direct_ns[k] * shared else 0)


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
    """Index of a kind whose sharing is decided by experience."""
    return 0 if kind == EXECUTE else 1 if kind == ACT else 2


@kernel
def wall_of(control, kind, started):
    """What a phase that has just ended took; for outputs, the last phase, what the whole step took.

    Rows that another core wrote in the last step are fetched when this one writes them, from its first
    phase on: that too is the price of sharing them.
    """
    return float(clock_ns() - (control.begun_at if kind == OBSERVE else started))


@kernel
def remember(control, ns, units, kind, total, elapsed, done):
    """Add a phase of `total` items, which did `done` events or items, to what is known of phases like it."""
    if done > 0 and control.solo == 0 and kind in (EXECUTE, ACT, OBSERVE):
        row = row_of(kind)
        add_up(control, ns, units, row, likeness(row, total), elapsed, done)


@kernel
def add_up(control, ns, units, row, k, elapsed, done):
    """Add what took so long to what is known of what is like it.

    Sums, not an average of ratios: rounds of one world may hold one event per entity or twenty, and the
    heavy ones are what sharing is for. The first phases after a change of way do not count: alone, a worker
    fetches what others have in their caches; shared, it waits for them to wake up. Those of a try soon
    outweigh what was known before. Behind them the sums fade slowly; a core that was taken away for some
    milliseconds must not decide the next hundred.
    """
    streak = control.streak[row]
    if streak < SETTLED_IN:
        return
    if units[k] > 0.0:
        expected = done * ns[k] / units[k]
        elapsed = min(elapsed, expected + (TAKEN_NS if row == STEP else expected))
    if streak < RUN:
        kept = TRIED * min(1.0, done / (1.0 - TRIED) / max(units[k], 1.0))
    else:
        kept = max(0.75, 1.0 - elapsed / LASTING_NS)
    ns[k], units[k] = kept * ns[k] + elapsed, kept * units[k] + done


@kernel
def moving_average(average, elapsed, items):
    """Of an item's cost in nanoseconds of one worker's time.

    A measurement counts as at most eightfold the average: one that a preempted core has spoilt must
    not have small phases shared for many steps.
    """
    if items == 0:
        return average
    return 0.75 * average + 0.25 * min(max(1.0, elapsed / items), 8.0 * average)


@kernel
def learn(control, kind, elapsed, total, events):
    """Learn from a phase what one of its items costs; for a direct round `next_round` learns of events."""
    if kind == ACT:
        control.action_cost = moving_average(control.action_cost, elapsed, total)
    elif kind == OBSERVE:
        control.output_cost = moving_average(control.output_cost, elapsed, total)
    elif kind == SETTLE:
        control.settle_cost = moving_average(control.settle_cost, elapsed, total)
    elif kind == EXECUTE:
        control.events_per_entity = 0.75 * control.events_per_entity + 0.25 * events / total


@kernel
def learn_from_shared(control):
    """Learn from the phase that has just been completed by all workers."""
    kind, total = control.shared_kind, control.shared_total
    control.shared_kind = NOTHING
    if kind == NOTHING:
        return
    events, measured = totals(control)
    events, elapsed = events - control.events_before, measured - control.measured_before
    learn(control, kind, elapsed, total, events)
    if kind == EXECUTE:  # whose wall time ends when it is settled
        control.event_cost = moving_average(control.event_cost, elapsed, events)
        control.executed_events = events
    else:
        wall = wall_of(control, kind, control.phase_started)
        remember(control, control.shared_ns, control.shared_units, kind, total, wall, total)


@kernel
def totals(control):
    """Events executed in this step, and measured nanoseconds of claims, by all workers."""
    workers = workers_of(control)
    events, measured = int64(0), 0.0
    for w in range(control.threads):
        events += workers[w].events
        measured += workers[w].measured
    return events, measured
