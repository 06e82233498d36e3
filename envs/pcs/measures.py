"""How well an episode served its calls, beyond its reward."""

from __future__ import annotations

from typing import Any

__all__ = ["Served"]

#: Share, the count of which it is one, and what it is a share of.
SHARES = (("blocked", "arrived"), ("dropped", "received"), ("outages", "completed"))


class Served:
    """Counts calls over the steps that it is shown."""

    def __init__(self, env: Any = None):
        self._calls = {name: 0 for pair in SHARES for name in pair}

    def step(self, env: Any) -> None:
        """Count a step; call it after each."""
        for name in self._calls:
            self._calls[name] += int(env.info_arrays[f"calls_{name}"].sum())

    def figures(self) -> dict[str, float]:
        """`blocked`: share of new calls. `dropped`: of handoffs. `outages`: of completed calls."""
        return {part: self._calls[part] / max(self._calls[whole], 1) for part, whole in SHARES}
