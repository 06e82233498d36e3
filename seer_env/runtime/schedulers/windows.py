"""Windows of the schedulers that keep queues of their own: those too small to share, one after the other.

How many events a window holds is a guess from those before it. One that takes far longer is cut short, and
what is left is the next window, which is as safe and is shared.
"""

from __future__ import annotations

from numba import int64

from seer_env.runtime.leq import kernel, kernel_for
from seer_env.runtime.phases import EXECUTE, MOST_EVENTS
from seer_env.runtime.recording import count_round
from seer_env.runtime.rounds import LOOK_NS, ROUNDS_PER_LOOK
from seer_env.runtime.sharing import moving_average, remember, totals, worth_sharing
from seer_env.runtime.transition import AT_BOUNDARY
from seer_env.runtime.waiting import clock_ns

#: Windows with fewer events than this are not timed: reading the clock would cost too much of them.
TIMED = 16.0


@kernel
def learn_window(control, own, walls, elapsed, events):
    """Remember how many events a window held and, if it was timed, what one took."""
    if events > 0 and elapsed > 0.0:
        remember(control, *walls, EXECUTE, events, elapsed, events)
    own.expected = 0.75 * own.expected + 0.25 * events


def windows(scheduler, open_window, publish_window, run_window, look):
    """The `next_windows` of a scheduler, whose record `own` holds `expected`, the events of a window.

    Args:
        open_window: `(control, own)`; False when the step is drained.
        publish_window: `(control, own, expected)` has all workers execute the window that is open.
        run_window: `(control, own, worker, worker_address)` executes it on this worker.
        look: `(control, own, events)`, called now and then with the events of the step so far.
    """

    @kernel_for(scheduler)
    def next_windows(control, own, worker, worker_address):
        """Windows too small to share, one after the other; True when one was published."""
        started, events = clock_ns(), worker.events
        looked, of_others = events, totals(control)[0] - events
        for _ in range(ROUNDS_PER_LOOK):
            if not open_window(control, own):
                control.stage = AT_BOUNDARY
                break
            count_round(control, worker, int64(-1))
            expected = max(int64(1), int64(own.expected))
            if control.threads > 1 and worth_sharing(control, EXECUTE, expected, control.event_cost):
                control.shared_rounds += 1
                publish_window(control, own, expected)
                return True
            control.direct = 1
            timed = own.expected >= TIMED or own.expected * control.event_cost > control.share_ns
            before = worker.events
            opened = clock_ns() if timed else int64(0)
            own.until = control.deadline
            if timed and control.threads > 1:
                own.until = min(own.until, opened + int64(control.clearly_ns))
            run_window(control, own, worker, worker_address)
            elapsed = float(clock_ns() - opened) if timed else 0.0
            walls = control.direct_ns, control.direct_units
            learn_window(control, own, walls, elapsed, worker.events - before)
            if elapsed > control.clearly_ns:  # far more than expected: what is left of it is worth sharing
                own.expected = max(own.expected, 1.0 + control.clearly_ns / control.event_cost)
            if worker.rule != 0:
                break
            if worker.events - looked >= MOST_EVENTS:
                looked = worker.events
                look(control, own, of_others + looked)
                if clock_ns() - started > LOOK_NS:
                    break
        elapsed = float(clock_ns() - started)
        control.event_cost = moving_average(control.event_cost, elapsed, worker.events - events)
        return False

    return next_windows
