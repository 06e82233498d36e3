"""Random worlds, schedulers, thread counts and breaches, for as long as asked: `python soak.py SECONDS SEED`.

Each example drives two envs of one random world through the same random story: a subject, whose
scheduler and thread count change on the way, which is copied, pickled and saved, and a plain twin
under `python` (small worlds) or `serial`. After every act their digests must agree. It prints JSON:
examples, steps, breaches, and the resident memory after every batch.
"""

from __future__ import annotations

import copy
import ctypes
import faulthandler
import gc
import json
import os
import pickle
import sys
import tempfile
import time
import warnings
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
from stress.chaos import FAULT_SCALE, Chaos, Fault

from seer_env.env import SeerParallelEnv

#: An example that takes longer has hung: the process ends with a traceback of all threads.
HANG_S = 120.0
#: Examples between two measurements of memory.
BATCH = 10
#: Above what the largest legal world emits in a step; FLOOD emits more.
CAPACITY = 200_000
COUNTS = {"examples": 0, "steps": 0, "breaches": 0, "switches": 0, "restores": 0}

SCHEDULERS = st.sampled_from(
    [("serial", 1), ("seer", 1), ("seer", 2), ("seer", 3), ("seer", 4), ("seer", 8), ("python", 1)]
)
WORLDS = st.fixed_dictionaries(
    {
        "n": st.one_of(st.integers(1, 40), st.integers(41, 400), st.integers(401, 3000)),
        "agents": st.integers(1, 3000),
        "population": st.integers(0, 3),
        "lookahead": st.sampled_from([0.0, 1e-9, 0.01, 0.1, 0.5, 1.0, 7.0]),
        "mean": st.sampled_from([0.2, 0.5, 1.0]),
        "to_self": st.sampled_from([0.0, 0.3, 1.0]),
        "to_next": st.sampled_from([0.0, 0.3]),
        "zero": st.sampled_from([0.0, 0.2, 0.6]),
        "sparks": st.integers(0, 3),
        "patience": st.sampled_from([0, 0, 5, 30]),
        "work": st.sampled_from([0, 0, 300]),
        "payload": st.sampled_from([4, 11]),
    }
)
ACTS = st.one_of(
    st.tuples(st.just("steps"), st.integers(1, 6)),
    st.tuples(st.just("breach"), st.tuples(st.sampled_from(list(Fault)[1:]), st.integers(0, 2999))),
    st.tuples(st.just("switch"), SCHEDULERS),
    st.tuples(st.just("copy"), st.sampled_from(["deepcopy", "pickle", "file"])),
    st.tuples(st.just("rewind"), st.integers(1, 3)),
    st.tuples(st.just("reset"), st.one_of(st.none(), st.integers(0, 2**31))),
)


class Story:
    """A subject and its twin, which act alike."""

    def __init__(self, world: dict, first: tuple[str, int], seed: int):
        world = {**world, "agents": min(world["agents"], world["n"])}
        self._world, self._rng = world, np.random.default_rng(seed)
        self.subject = self.env(*first)
        self.twin = self.env("python" if world["n"] <= 40 else "serial", 1)
        self.reset(seed)

    def env(self, scheduler: str, threads: int) -> SeerParallelEnv:
        return SeerParallelEnv(
            Chaos(**self._world, flood=CAPACITY + 1),
            scheduler=scheduler,
            threads=threads,
            event_capacity=CAPACITY,
        )

    def agree(self) -> None:
        assert self.subject.digest() == self.twin.digest(), f"{self.subject.scheduler} differs"
        assert self.subject.agents == self.twin.agents

    def both(self, act) -> list:
        """What `act` gives, or the error that it raises, for the subject and its twin."""
        results = []
        for env in (self.subject, self.twin):
            try:
                results.append(act(env))
            except Exception as error:
                results.append(error)
        return results

    def reset(self, seed: int | None) -> None:
        a, b = self.both(lambda env: env.reset_arrays(seed))
        assert np.array_equal(a, b)

    def actions(self) -> np.ndarray:
        actions = self._rng.uniform(-1.0, 1.0, (len(self.twin.possible_agents), 3))
        actions[:, 2] = 0.0
        return actions

    def steps(self, count: int) -> None:
        for _ in range(count):
            actions = self.actions()
            a, b = self.both(lambda env: env.step_arrays(actions))  # noqa: B023 - called at once
            assert not isinstance(a, Exception), f"{self.subject.scheduler}: {a!r}"
            assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))
            COUNTS["steps"] += 1
        self.agree()

    def breach(self, fault: Fault, agent: int) -> None:
        """The step with the fault raises the same for both, and changes nothing."""
        before, actions = self.subject.digest(), self.actions()
        live = np.flatnonzero(self.twin.live)
        if not live.size:
            return
        actions[live[agent % live.size], 2] = fault / FAULT_SCALE
        a, b = self.both(lambda env: env.step_arrays(actions))
        assert isinstance(a, Exception), f"{fault!r} was not found"
        assert type(a) is type(b), f"{a!r} against {b!r}"
        assert getattr(a, "rule", str(a)) == getattr(b, "rule", str(b))
        assert self.subject.digest() == before, f"{fault!r} left something behind"
        COUNTS["breaches"] += 1
        self.agree()

    def switch(self, scheduler: str, threads: int) -> None:
        if scheduler == "python" and self._world["n"] > 400:
            return
        other = self.env(scheduler, threads)
        self._through_a_file(self.subject, other)
        self.subject.close()
        self.subject = other
        COUNTS["switches"] += 1
        self.agree()

    def copy(self, how: str) -> None:
        """Go on with a copy; the original is closed and must not matter."""
        original = self.subject
        if how == "file":
            self.subject = self.env(original.scheduler, original.threads)
            self._through_a_file(original, self.subject)
        else:
            make = copy.deepcopy if how == "deepcopy" else lambda env: pickle.loads(pickle.dumps(env))
            self.subject = make(original)
        original.close()
        self.agree()

    def rewind(self, count: int) -> None:
        """Step away, and come back through a file."""
        before = self.subject.digest()
        with tempfile.TemporaryDirectory() as folder:
            self.subject.save(Path(folder) / "boundary.npz")
            for _ in range(count):
                self.subject.step_arrays(np.zeros((len(self.subject.possible_agents), 3)))
            self.subject.load(Path(folder) / "boundary.npz")
        assert self.subject.digest() == before
        COUNTS["restores"] += 1
        self.agree()

    def _through_a_file(self, source: SeerParallelEnv, target: SeerParallelEnv) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source.save(Path(folder) / "boundary.npz")
            target.load(Path(folder) / "boundary.npz")

    def close(self) -> None:
        self.subject.close()
        self.twin.close()


@hypothesis.settings(
    max_examples=BATCH,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.generate],  # shrinking a long story takes longer than the soak
)
@hypothesis.given(WORLDS, SCHEDULERS, st.integers(0, 2**31), st.lists(ACTS, min_size=3, max_size=12))
def agree(world, first, seed, acts):
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    if first[0] == "python" and world["n"] > 400:
        first = ("seer", 2)
    story = Story(world, first, seed)
    for name, argument in acts:
        arguments = argument if isinstance(argument, tuple) else (argument,)
        getattr(story, name)(*arguments)
    story.steps(2)
    story.close()
    COUNTS["examples"] += 1
    faulthandler.cancel_dump_traceback_later()


def resident_mib() -> float | None:
    """Resident memory of this process without what is freed; None where there is no /proc."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:  # glibc keeps freed pages between live ones unless asked
        trim(0)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("error")
    end, resident = time.monotonic() + seconds, []
    while time.monotonic() < end:
        hypothesis.seed(seed + len(resident))(agree)()
        resident.append(resident_mib())
    print(json.dumps({**COUNTS, "resident": resident}))


if __name__ == "__main__":
    main()
