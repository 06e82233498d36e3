"""The arguments of `Aircraft`, checked at the border."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike

from seer_env.checks import flag, known, named, number, whole
from seer_env.envs.aircraft.constants import (
    COLLISION_H,
    COLLISION_V,
    HORIZON,
    PERFORMANCE,
    SEPARATION_H,
    SEPARATION_V,
    WEIGHTS,
)
from seer_env.envs.aircraft.tracks import Routes
from seer_env.errors import ModelError

__all__ = ["Arguments"]

#: Fields that count something, and the most of it.
WHOLE = dict(n_agents=None, complexity=1_000_000, neighbours=32, receivers=None, ticks=1_000, per_region=None)
#: Fields that are positive numbers, and the least of them: starts are spread over cells as large as minima.
POSITIVE = dict(link_delay=0.0, dt=0.0, range=0.0, reach=0.0, separation_h=1.0, separation_v=1.0, horizon=0.0)
#: Parameters, and their defaults.
PARAMETERS = PERFORMANCE | WEIGHTS | {"collision_h": COLLISION_H, "collision_v": COLLISION_V, "expiry": 6}


@dataclass(kw_only=True)
class Arguments:
    """What a world of `Aircraft` is made of.

    Attributes:
        n_agents: aircraft.
        communication: reports between aircraft, or every aircraft for itself (no cross-entity event).
        complexity: segments of the prediction on each report, `>= 1`: the work per event.
        link_delay: s between sending and arrival of a report; the lookahead. With
            `communication=False` no event crosses, and the lookahead is the whole step.
        discrete: actions `MultiDiscrete([5, 5, 5])` for -1, -0.5, 0, 0.5, 1 instead of `Box(-1, 1, (3,))`.
        neighbours: how many urgent neighbours an aircraft keeps and observes.
        receivers: the most receivers of a report. A crowded channel is time-shared: with more
            neighbours in range, each hears every second, third, ... report.
        dt, ticks: s per step, and ticks in it.
        range: m, horizontal reach of reports. reach: m, vertical.
        separation_h, separation_v, horizon: minima (m) and time ahead (s) of a conflict.
        per_region: aircraft in each region of 400 km: the density (see `traffic.py`).
        jitter: m, standard deviation of the shift of what is not flown as recorded.
        wind: m/s at the ceiling, of the mean wind; its pattern comes from `wind_seed`.
        routes: a routes file, `Routes`, or None for the bundled ones.
        parameters: others by name, any of `PARAMETERS`.

    Raises:
        ModelError: a value that cannot work; names it.
    """

    n_agents: int
    communication: bool = True
    complexity: int = 8
    link_delay: float = 0.5
    discrete: bool = False
    neighbours: int = 6
    receivers: int = 24
    dt: float = 5.0
    ticks: int = 5
    range: float = 75_000.0
    reach: float = 2_000.0
    separation_h: float = SEPARATION_H
    separation_v: float = SEPARATION_V
    horizon: float = HORIZON
    per_region: int = 100
    jitter: float = 2_000.0
    wind: float = 15.0
    wind_seed: int = 0
    routes: Routes | str | PathLike | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self):
        for name, most in WHOLE.items():
            setattr(self, name, whole(name, getattr(self, name), most=most))
        for name, least in POSITIVE.items():
            setattr(self, name, number(name, getattr(self, name), least, positive=least == 0.0))
        _check_parameters(self.parameters)
        self.communication = flag("communication", self.communication)
        self.discrete = flag("discrete", self.discrete)
        self.wind, self.wind_seed = number("wind", self.wind), whole("wind_seed", self.wind_seed, 0)
        self.jitter = number("jitter", self.jitter, 0.0)
        latest = self.dt - 0.5 * self.dt / self.ticks
        if 0.5 * self.dt / self.ticks + self.link_delay >= self.dt:
            raise ModelError(
                f"link_delay={self.link_delay} s: a report must arrive within the step it is sent in, so "
                f"below dt - dt / ticks / 2 = {latest:g} s"
            )

    def params(self) -> dict[str, float]:
        """`EventModel.params`."""
        named = ("communication", "discrete", "complexity", "neighbours", "receivers", "ticks")
        params = {name: getattr(self, name) for name in named}
        params |= {"tick": self.dt / self.ticks, "step": self.dt}
        measured = ("link_delay", "range", "reach", "separation_h", "separation_v", "horizon")
        params |= {name: getattr(self, name) for name in measured}
        params |= {name: type(value)(self.parameters.get(name, value)) for name, value in PARAMETERS.items()}
        # Closer than this, two aircraft may have met since the boundary before.
        met = params["collision_h"] + 2.5 * params["max_speed"] * self.dt
        return params | {"near": max(params["separation_margin"] * params["separation_h"], met)}


def _check_parameters(given: Mapping[str, float]) -> None:
    known(given, [*named(Arguments), *PARAMETERS])
    for name, value in given.items():
        number(name, value, 0.0, positive=name == "ceiling")
    values = PARAMETERS | dict(given)
    if not 0 < values["min_speed"] < values["max_speed"]:
        raise ModelError(f"min_speed={values['min_speed']} must be above 0 and below max_speed")
    if values["separation_margin"] < 1:
        raise ModelError(f"separation_margin={values['separation_margin']} must be at least 1")
