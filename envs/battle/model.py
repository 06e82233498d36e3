"""`Battle`: the world as an `EventModel`."""

from __future__ import annotations

import math

import numpy as np
from gymnasium import spaces

from seer_env.checks import flag, known, number, whole
from seer_env.envs.battle.constants import (
    AIMS,
    ARMIES,
    CHANNELS,
    ENTITY,
    INFO,
    LOOKAHEAD,
    NOBODY,
    RULES,
    SIDE,
    Kind,
)
from seer_env.envs.battle.field import LARGEST_MAP, SMALLEST_MAP, Field, capacity, formation, smallest_map
from seer_env.envs.battle.handling import arrive, begin_step, count_hit, let_in, take_hit
from seer_env.envs.battle.observing import mark_legal, observe_surroundings
from seer_env.envs.battle.policies import POLICIES
from seer_env.envs.battle.viewer import render_frame
from seer_env.errors import ModelError
from seer_env.model import EventModel, Schedule, handles, output

__all__ = ["Battle"]


class Battle(EventModel):
    """Two armies on a grid: an agent moves to a cell nearby or attacks a neighbouring one, each step.

    The rules are those of MAgent2's `battle_v4`; `README.md` has them, and every difference. Agents
    `0..n_agents/2-1` are red, the others blue. Every cell is an entity, and decides who enters it.

    Args:
        n_agents: agents of both armies together, an even number.
        map_size: cells along an edge of the map, walls included, at least 12; None for the smallest map
            that holds the armies (45 for 162 agents, as in MAgent2).
        infos: tell hits, kills and the action mask; False leaves infos empty, as MAgent2's are.
        **rules: any of `RULES`: `max_hp`, `damage`, `recovery` and the rewards.

    Raises:
        ModelError: a value that cannot work; names it.
    """

    name = "battle"
    Kind = Kind
    entity = ENTITY
    info = INFO
    public = ("shown",)
    lookahead = LOOKAHEAD
    action_kind = Kind.ACTION
    action_space = spaces.Discrete(len(AIMS))
    observation_space = spaces.Box(0.0, 1.0, (SIDE * SIDE * CHANNELS,), np.float32)
    max_cycles = 1000

    def __init__(
        self, n_agents: int = 162, *, map_size: int | None = None, infos: bool = True, **rules: float
    ):
        n_agents = whole("n_agents", n_agents, 2, 2 * capacity(LARGEST_MAP))
        if n_agents % 2:
            raise ModelError(f"n_agents must be even, for two equal armies, got {n_agents}")
        half = n_agents // 2
        size = (
            smallest_map(half) if map_size is None else whole("map_size", map_size, SMALLEST_MAP, LARGEST_MAP)
        )
        if capacity(size) < half:
            raise ModelError(
                f"map_size must be at least {smallest_map(half)} for {n_agents} agents, got {size}"
            )
        _check_rules(rules)
        if not flag("infos", infos):
            self.info, self.observe = None, _observe_only  # type: ignore[method-assign]  # this world's own
        self.field = Field(size, n_agents)
        self.policies, self.sides = POLICIES, np.repeat([0, 1], half)
        params = RULES | {name: float(value) for name, value in rules.items()}
        params |= {"half": half, "first_cell": self.field.first_cell}
        super().__init__(self.field.n_entities, n_agents, params=params, tables=self.field.tables())

    @property
    def agent_names(self) -> list[str]:
        """`red_0`, `red_1`, ..., then `blue_0`, ..., as in MAgent2."""
        return [f"{army}_{i}" for army in ARMIES for i in range(self.n_agents // 2)]

    def standing(self, state: np.ndarray) -> np.ndarray:
        """How many agents of each army live, `[2]`."""
        return state["shown"][self.n_agents : self.field.first_cell].astype(np.int64)

    def reset(self, state: np.ndarray, schedule: Schedule, rng: np.random.Generator) -> None:
        """Draw up the armies. They always start alike, and no event is pending."""
        agents, half, field = self.n_agents, self.n_agents // 2, self.field
        red, blue = formation(field.size)
        cells = field.entity_of(np.concatenate([red[-half:], blue[:half]]))  # the ranks next to the middle
        state["cell"][:agents] = cells
        state["shown"][:agents] = self.params["max_hp"]
        state["shown"][agents : field.first_cell] = half
        state["shown"][field.first_cell :] = field.empty_cells
        state["shown"][cells] = np.arange(agents)

    def render_frame(self, state: np.ndarray, clock: float, size: tuple[int, int] = (900, 900)) -> np.ndarray:
        """The world as a picture, uint8 `[height, width, 3]`; see `viewer.render_frame`."""
        return render_frame(self, state, clock, size)

    # -- events ------------------------------------------------------------------------------------

    @handles(Kind.ACTION)
    def act(me, event, sim):
        begin_step(me, int(event.payload[0]), sim)

    @handles(Kind.HIT)
    def hit(me, event, sim):
        take_hit(me, int(event.payload[0]), sim)

    @handles(Kind.STRUCK)
    def struck(me, event, sim):
        count_hit(me, event.payload[0] == 1.0, sim.params)

    @handles(Kind.FALL)
    def fall(me, event, sim):
        me.shown -= 1.0

    @handles(Kind.ENTER)
    def enter(me, event, sim):
        let_in(me, int(event.payload[0]), int(event.payload[1]), sim)

    @handles(Kind.MOVED)
    def moved(me, event, sim):
        arrive(me, int(event.payload[0]), sim)

    @handles(Kind.LEAVE)
    def leave(me, event, sim):
        me.shown = NOBODY

    # -- outputs -----------------------------------------------------------------------------------

    @output
    def observe(me, obs, info, sim):
        observe_surroundings(me, obs, sim)
        info.hits, info.kills = me.hits, me.kills
        mark_legal(me, info, sim)

    @output
    def reward(me, info, sim):
        return me.earned

    @output
    def terminated(me, info, sim):
        red, blue = sim.view(sim.n_agents).shown, sim.view(sim.n_agents + 1).shown
        return me.shown < 0.0 or red == 0.0 or blue == 0.0


def _observe_only(me, obs, info, sim):
    observe_surroundings(me, obs, sim)


def _check_rules(rules: dict[str, float]) -> None:
    known(rules, ["n_agents", "map_size", "infos", *RULES])
    for name, value in rules.items():
        least = 0.0 if name in ("damage", "recovery") else -math.inf
        number(name, value, least, positive=name == "max_hp")
