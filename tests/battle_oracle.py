"""Battle by its rules, slow and plain: what `README.md` of the world says, without events or entities."""

from __future__ import annotations

import numpy as np

MOVES = [(x, y) for y in range(-2, 3) for x in range(-2, 3) if x * x + y * y <= 4]
ATTACKS = [(x, y) for y in range(-1, 2) for x in range(-1, 2) if (x, y) != (0, 0)]
TARGETS = MOVES + ATTACKS


class BattleOracle:
    """Agents are numbers, red before blue; positions are (x, y) on a map of `size`, walls included."""

    def __init__(self, size: int, positions: list[tuple[int, int]]):
        self.size, self.half = size, len(positions) // 2
        self.position = dict(enumerate(positions))  # of those who live
        self.hp = [10.0] * len(positions)
        self.hits, self.kills = [0] * len(positions), [0] * len(positions)

    def inside(self, cell) -> bool:
        return all(1 <= c <= self.size - 2 for c in cell)

    def target(self, agent, action):
        (x, y), (dx, dy) = self.position[agent], TARGETS[action]
        return x + dx, y + dy

    def legal(self, agent) -> list[int]:
        return [int(self.inside(self.target(agent, action))) for action in range(len(TARGETS))]

    def army(self, agent) -> int:
        return int(agent >= self.half)

    def step(self, actions: list[int]) -> dict[int, float]:
        """Rewards of those who lived before the step."""
        before = {cell: agent for agent, cell in self.position.items()}
        fighters = sorted(self.position)
        rewards, wishes, blows = {}, {}, []
        for agent in fighters:
            self.hp[agent] = min(10.0, self.hp[agent] + 0.1)
            rewards[agent] = -0.005 - 0.1 * (actions[agent] >= len(MOVES))
            cell = self.target(agent, actions[agent])
            if actions[agent] >= len(MOVES):
                blows.append((agent, before.get(cell)))
            elif self.inside(cell) and cell not in before:
                wishes.setdefault(cell, agent)
        for agent, victim in blows:
            self.strike(agent, victim, rewards)
        for cell, agent in wishes.items():
            if agent in self.position:
                self.position[agent] = cell
        return rewards

    def strike(self, agent, victim, rewards):
        if victim is None or self.army(victim) == self.army(agent) or victim not in self.position:
            return
        self.hp[victim] -= 2.0
        self.hits[agent] += 1
        rewards[agent] += 0.2
        if self.hp[victim] < 0:
            del self.position[victim]
            self.kills[agent] += 1
            rewards[agent] += 5.0
            rewards[victim] -= 0.1

    def over(self) -> bool:
        return {self.army(agent) for agent in self.position} != {0, 1}

    def view(self, agent, cell) -> np.ndarray:
        """What `agent` sees from `cell`, float32 `[13, 13, 5]`."""
        shown = np.zeros((13, 13, 5), np.float32)
        there = {cell: other for other, cell in self.position.items()}
        for dy in range(-6, 7):
            for dx in range(-6, 7):
                x, y = cell[0] + dx, cell[1] + dy
                if dx * dx + dy * dy > 36 or not (0 <= x < self.size and 0 <= y < self.size):
                    continue
                if not self.inside((x, y)):
                    shown[dy + 6, dx + 6, 0] = 1.0
                elif (x, y) in there:
                    other = there[x, y]
                    channel = 1 if self.army(other) == self.army(agent) else 3
                    shown[dy + 6, dx + 6, channel : channel + 2] = 1.0, self.hp[other] / 10.0
        return shown
