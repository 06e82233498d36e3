"""From the model's `info` records to one dict per agent."""

from __future__ import annotations

import numpy as np

__all__ = ["InfoDicts"]


class InfoDicts:
    """Makes fresh info dicts, of Python numbers, no two of them shared.

    A field that is a subarray (such as an int8 `action_mask`) becomes an array, a row of the block.

    Args:
        dtype: `EventModel.info`, or None for empty dicts.
    """

    def __init__(self, dtype: np.dtype | None):
        self._dtype = dtype
        names = () if dtype is None else dtype.names or ()
        # A dict display is more than twice as fast as dict(zip(names, row)), and `repr` of a str is
        # always a literal.
        entries = ", ".join(f"{name!r}: v{i}" for i, name in enumerate(names))
        targets = "".join(f"v{i}, " for i in range(len(names)))
        source = f"lambda columns: [{{{entries}}} for {targets} in zip(*columns)]"
        self._make = eval(source) if names else None

    def __call__(self, records: np.ndarray | None, count: int) -> list[dict]:
        """Dicts of `count` agents.

        Args:
            records: structured `[count]`, or None.
            count: number of dicts.
        """
        if records is None or self._make is None:
            return [{} for _ in range(count)]
        return self._make([_column(records[name]) for name in records.dtype.names or ()])

    def __reduce__(self):
        return InfoDicts, (self._dtype,)


def _column(values: np.ndarray) -> list:
    return values.tolist() if values.ndim == 1 else list(values.copy())
