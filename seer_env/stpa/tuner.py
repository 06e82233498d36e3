"""`ThreadTuner`: chooses an engine's threads on reset, refines the choice on first steps, and watches it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seer_env.affinity import ANYWHERE, Affinity
from seer_env.runtime.entry import pool_available, pool_lost
from seer_env.stpa.choices import Choice, Choices, bucket
from seer_env.stpa.machine import describe, ladder
from seer_env.stpa.proposing import predicted
from seer_env.stpa.rehearsal import Rehearsal
from seer_env.stpa.report import Decision, Proposal, Source, StpaReport, timings, why
from seer_env.stpa.search import BLOCK_S, UNSHARED_S, GuardedSearch
from seer_env.stpa.watch import Watch
from seer_env.threads import simple_rule

if TYPE_CHECKING:
    from seer_env.actions import ActionReader
    from seer_env.model import EventModel
    from seer_env.runtime.schedulers.compiled import CompiledEngine
    from seer_env.runtime.schedulers.compiled_copies import CompiledCopies

__all__ = ["ThreadTuner"]

#: Blocks per candidate on an episode's own steps: to confirm a choice, to refine it, and to search again.
ROUNDS = 6
#: On an episode's own steps, fewer threads than before must be faster by more than this. With more, an engine
#: does alone whatever is sooner alone, once it has found out, and tries now and then whether sharing pays
#: again (`runtime.experience`).
KEEP = 0.05
#: Share of the preflight's budget that the predictor's trace may take.
TRACE_SHARE = 0.25


class ThreadTuner:
    """Decides on how many threads one engine steps. Outputs do not depend on it.

    Args:
        model: the world, of which the engine holds `copies`.
        preflight_s: wall seconds that the rehearsal of a reset may take.
        most: threads to choose at most; None is the effective CPUs.
        clock: wall seconds, for tests.

    Attributes:
        machine: as it was when the tuner was made.
        ladder: the candidates.
        threads: the choice so far; while a search runs on an episode's steps, they may run on others.
        wakes_at: `before_step` need not be called behind a step that took fewer seconds: steps on one thread
            that are too short to share are not worth watching.
    """

    def __init__(
        self,
        model: EventModel,
        copies: int,
        preflight_s: float,
        most: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self._model, self._copies, self._clock = model, copies, clock
        self._preflight_s = preflight_s
        self.machine = describe()
        if most is not None:
            self.machine = replace(self.machine, cpus=min(self.machine.cpus, most))
        rule = simple_rule(model, self.machine.cpus, copies)
        if rule > 1:
            pool_available()  # says once why threads cannot be had, where they cannot
        self.ladder = (1,) if pool_lost() else ladder(self.machine)
        self.threads = max(count for count in self.ladder if count <= min(rule, self.machine.cores))
        self.decisions: list[Decision] = []
        self._start = Proposal(self.threads, "rule", "a first guess from the sizes of world and machine")
        self._configuration = configuration(model, copies)
        self._chosen = len(self.ladder) == 1
        #: Searches: on rehearsed steps, the one that runs on the episode's steps, and the last one that did.
        self._rehearsed: GuardedSearch | None = None
        self._search: GuardedSearch | None = None
        self._found: GuardedSearch | None = None
        self._watch = Watch()
        self._preflight_took = 0.0
        self.wakes_at = 0.0
        self._fresh = True  # the next step is the first one after a reset
        self._unsaved = self._rearmed = False  # choices; whether a change led to the running search

    def attach(self, engine: CompiledEngine | CompiledCopies, affinity: Affinity = ANYWHERE) -> None:
        """Decide for this engine from now on; it was made with the ladder's last count."""
        self._engine, self._affinity = engine, affinity
        if len(self.ladder) == 1 and not self.decisions:
            why_one = "this process was forked after a parallel step" if pool_lost() else "one effective CPU"
            self._decide(1, "machine", why_one)
        engine.use_threads(self.threads)
        stamp = engine.compiled.stamp
        self._choices = None if stamp is None else Choices(self.machine.fingerprint, stamp)

    # -- on reset ----------------------------------------------------------------------------------

    def after_reset(self, reader: ActionReader, live: np.ndarray, info: np.ndarray | None) -> None:
        """The engine stands at the first boundary of an episode, which shows these agents and infos."""
        self._fresh = True
        if self._chosen:
            return
        remembered = None if self._choices is None else self._choices.recall(self._configuration)
        if remembered is not None and remembered.threads in self.ladder:
            self._adopt(remembered)
        elif self._preflight_s > 0.0:
            self._preflight(Rehearsal(self._engine, reader, live, info, self._affinity))
        else:
            self._begin_search(self.ladder)
        self._chosen = True
        self._doze()

    def _adopt(self, remembered: Choice) -> None:
        """Take a remembered choice, to be confirmed on the first steps."""
        reason = f"{remembered.threads} was chosen earlier, at {1e3 * remembered.step_s:.3f} ms per step"
        self._decide(remembered.threads, "remembered", reason)
        if remembered.step_s >= UNSHARED_S:
            at = self.ladder.index(remembered.threads)
            self._begin_search({1, *self.ladder[max(0, at - 1) : at + 2]})

    def _preflight(self, rehearsal: Rehearsal) -> None:
        """Search on rehearsed steps, within the budget."""
        begun, stopped = self._clock(), ""
        try:
            way_back = self._warm_up(rehearsal)
            self._start = self._proposal(rehearsal)
            start, favoured = self._start.threads, self._start.favoured
            self._rehearsed = search = GuardedSearch(self.ladder, start, favoured=favoured)
            self._rehearse(rehearsal, search, begun + self._preflight_s - way_back)
        except Exception as error:  # what random actions lead to is no fault of the episode
            stopped = f" until one raised {type(error).__name__}"
        finally:
            events = self._engine.stats.events
            self._engine.forget_rehearsal()
        self._preflight_took = self._clock() - begun
        search = self._rehearsed or GuardedSearch(self.ladder, self.threads)
        self._decide(search.choice, "preflight", why(search, f"{search.steps} rehearsed steps{stopped}"))
        if self.threads in search.medians:
            self._remember(search.medians[self.threads], events)
        undecided = search.rivals if search.finished or len(search.medians) > 1 else self.ladder
        if len(undecided) > 1:
            self._begin_search(undecided)
        elif self.threads > 1 and search.medians[self.threads] < BLOCK_S:
            # Rehearsed steps follow each other at once. Behind a policy's inference, workers have fallen
            # asleep, and waking them is dear to a short step.
            self._begin_search((1, self.threads))

    def _warm_up(self, rehearsal: Rehearsal) -> float:
        """Rehearse a step, which touches memory for the first time; seconds that the way back may take."""
        self._engine.use_threads(self.threads)  # which may load code
        begun = self._clock()
        rehearsal.step(self.threads)
        return self._clock() - begun - self._engine.elapsed_s

    def _proposal(self, rehearsal: Rehearsal) -> Proposal:
        """What the search starts from: what a similar world chose, or the predictor says, or the rule."""
        engine = self._engine
        if self._choices is not None:
            similar = self._choices.similar(*self._buckets(engine.elapsed_s, engine.stats.events))
            if similar is not None and similar.threads in self.ladder:
                return Proposal(similar.threads, "similar", "chosen for as many entities and events as dear")
        if engine.elapsed_s < UNSHARED_S:
            return self._start
        step = partial(rehearsal.step, self.ladder[-1])  # as many threads as traces are trained on
        seconds = TRACE_SHARE * self._preflight_s
        return predicted(self._model, self._copies, engine, step, self.ladder, self._start, seconds)

    def _rehearse(self, rehearsal: Rehearsal, search: GuardedSearch, deadline: float) -> None:
        """Run rehearsed steps while the next one is expected to end before the deadline."""
        at, expected = self._clock(), 0.0
        while not search.finished and at + expected <= deadline:
            search.stepped(rehearsal.step(search.threads))
            at, before = self._clock(), at
            expected = max(0.5 * expected, at - before)

    # -- on a step ---------------------------------------------------------------------------------

    def before_step(self) -> None:
        """The engine is about to step: what its last step took may change on how many threads."""
        seconds, watch = self._engine.elapsed_s, self._watch
        if self._search is None and watch.low <= seconds <= watch.high and watch.left > 1:
            watch.away = 0
            watch.left -= 1
        elif self._fresh:  # the last step was another episode's, or none
            self._fresh = False
            if not self._chosen:  # the episode began with a saved boundary, not with a reset
                self._chosen = True
                self._begin_search(self.ladder)
        elif self._search is not None:
            self._searched(self._search, seconds)
        elif watch.stepped(seconds):
            self._rearmed = True
            self._engine.share_again()  # what is known of other numbers of threads is old
            self._begin_search(self.ladder)
        elif self._unsaved and watch.reference is not None:
            self._remember(watch.reference, self._engine.stats.events)

    def _begin_search(self, candidates: Iterable[int]) -> None:
        self._search = GuardedSearch(sorted(candidates), self.threads, ROUNDS, KEEP, self._start.favoured)
        self._engine.use_threads(self._search.threads)

    def _searched(self, search: GuardedSearch, seconds: float) -> None:
        """A step of a search on the episode's own steps is done."""
        search.stepped(seconds)
        if not search.finished:
            self._engine.use_threads(search.threads)
            return
        self._search, self._found = None, search
        before = self.threads
        self._decide(search.choice, "steps", why(search, f"{search.steps} steps of the episode"))
        if self._rearmed:
            self._watch.searched(search.steps, confirmed=self.threads == before)
        else:
            self._watch.begin(search.steps)
        self._unsaved, self._rearmed = True, False
        self._doze()

    def _doze(self) -> None:
        watched = self._search is not None or self.threads > 1
        self.wakes_at = 0.0 if watched else UNSHARED_S

    # -- what was decided --------------------------------------------------------------------------

    def _decide(self, threads: int, source: Source, reason: str) -> None:
        self.threads = threads
        self.decisions.append(Decision(threads, source, reason))
        self._engine.use_threads(threads)

    def _buckets(self, step_s: float, events: int) -> tuple[int, int]:
        """Log2 buckets of the entities and of an event's nanoseconds."""
        return bucket(self._copies * self._model.n_entities), bucket(1e9 * step_s / max(events, 1))

    def _remember(self, step_s: float, events: int) -> None:
        """Keep the choice on disk, with what a step takes."""
        self._unsaved = False
        if self._choices is not None:
            buckets = self._buckets(step_s, events)
            self._choices.remember(Choice(self._configuration, *buckets, self.threads, step_s))

    def forget(self) -> None:
        """Let the next first reset of this configuration choose anew."""
        if self._choices is not None:
            self._choices.forget(self._configuration)

    def report(self) -> StpaReport:
        """What has been decided so far, and why."""
        return StpaReport(
            world=self._model.name,
            threads=self._engine.threads,
            machine=self.machine,
            ladder=self.ladder,
            start=self._start,
            decisions=tuple(self.decisions),
            rehearsed=timings(self._rehearsed),
            stepped=timings(self._search or self._found),
            searching=self._search is not None,
            preflight_s=self._preflight_took,
            budget_s=self._preflight_s,
        )

    def __getstate__(self) -> dict:
        """A copy has an engine of its own; a search under way ends with what it has found."""
        return {
            **self.__dict__,
            "_engine": None,
            "_affinity": None,
            "_choices": None,
            "_search": None,
            "_fresh": True,
        }


def configuration(model: EventModel, copies: int) -> str:
    """Hex digest of what a model was made with, and of how many copies there are."""
    plain = (bool, int, float, str, tuple, type(None))
    own = sorted((name, value) for name, value in vars(model).items() if isinstance(value, plain))
    declared = model.lookahead, model.dt, model.grid
    text = repr((type(model).__qualname__, declared, own, sorted(model.params.items()), copies))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
