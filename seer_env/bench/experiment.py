"""What an experiment is: its options, groups of contenders on the same work, and what it should show.

`runner.run` measures it, `results.Results` holds what was measured, `folder.Folder` keeps it on disk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import tyro

from seer_env.commands.output import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

__all__ = ["Claim", "Contender", "Experiment", "Group", "Measure"]


class Contender(NamedTuple):
    """Who is measured: a scheduler or another system, and its threads."""

    name: str
    threads: int = 1

    def __str__(self) -> str:
        return self.name if self.threads == 1 else f"{self.name}, {self.threads} threads"


#: Measures once, and returns what was measured by the names of the quantities. A quantity called
#: `digest` must be equal for all contenders of a turn: a whole number below 2**53.
Measure = Callable[[], Mapping[str, float]]


@dataclass(frozen=True)
class Group:
    """Contenders on the same work, measured in turn so that a slow minute hits all of them alike.

    Attributes:
        name: what the work is, in a few words; unique in its experiment.
        make: builds the contenders, warmed up, when their time has come: `make(stack)`, or with a
            preparation `make(stack, found)`. What must be closed afterwards is registered with the stack.
        facts: what the work is, by columns of the table, such as `{"entities": 3600}`.
        prepare: finds out what must be known before, such as a calibration. It is asked once: what it
            found is kept with the results, so that all turns are the same work, and shown as facts.
    """

    name: str
    make: Callable[..., Mapping[Contender, Measure]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[], Mapping[str, float]] | None = None


class Claim(NamedTuple):
    """A promise beside what was measured."""

    text: str
    measured: float
    relation: Literal["at least", "at most"]
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the measurement keeps the promise; nan never does."""
        return self.measured >= self.limit if self.relation == "at least" else self.measured <= self.limit


@dataclass
class Experiment(ABC):
    """Options that every experiment has; its own come on top, and its docstring is its `--help`."""

    #: Name of the command and of the folder.
    name: ClassVar[str]
    #: Columns of the table: name of the quantity, as measured or derived, and its format.
    columns: ClassVar[Mapping[str, str]]

    repeats: int = 5
    """Measurements of each contender, in turn with the others'."""
    seed: int = 0
    """Seed of the worlds, and of the actions where nobody chooses them."""
    quick: bool = False
    """A smoke test in a minute or two: little work, few repeats. Its figures say little."""
    busy: bool = False
    """Let another process hold a core while measuring."""
    restart: bool = False
    """Throw away what an earlier run has measured, instead of going on from there."""
    output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder of the results, seer-bench/NAME by default: CSV, PNG, and a JSON of the machine."""

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise CommandError(f"--repeats {self.repeats}: at least 1")
        if not 0 <= self.seed < 1 << 63:
            raise CommandError(f"--seed {self.seed}: from 0 to 2**63 - 1")

    def main(self) -> int:
        """Measure what is missing and show everything; see `runner.run`."""
        from seer_env.bench.runner import run

        return run(self)

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.output or Path("seer-bench") / (self.name + ("-quick" if self.quick else ""))

    @property
    def turns(self) -> int:
        """Measurements of each contender."""
        return min(self.repeats, 2) if self.quick else self.repeats

    def options(self) -> dict[str, Any]:
        """What results depend on; a folder holds results of one set of options."""
        return {k: v for k, v in asdict(self).items() if k not in ("restart", "output")}

    def missing(self) -> str | None:
        """Why it cannot run here and what to do, or None if it can."""
        return None

    @abstractmethod
    def groups(self) -> Sequence[Group]:
        """What is measured, in this order.

        Raises:
            CommandError: an option out of its range.
        """

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        """Quantities that follow from what was measured, such as a ratio to a yardstick."""
        return {}

    def claims(self, results: Results) -> Sequence[Claim]:
        """What it should show, beside what it does show."""
        return ()

    def notes(self, results: Results) -> Sequence[str]:
        """Sentences below the table: what a reader must know to read it."""
        return ()

    @abstractmethod
    def draw(self, results: Results, figure: Figure) -> None:
        """Draw the results."""
