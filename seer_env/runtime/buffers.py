"""Memory of large arrays, used again when nobody holds them any more.

An allocator hands memory of this size back to the system and asks for it anew, and the first touch of a page
costs more than most of what a step does with it. Who keeps an array, or a view of it, keeps its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

__all__ = ["LARGE", "Buffers"]

#: Bytes from which on an array's memory is used again: well below where allocators map pages for one array.
LARGE = 1 << 16
#: Memories of one size that are remembered: a step's outputs while the next one's are written, and one more.
MOST_KEPT = 3
#: What `getrefcount` says of an element that its list alone holds.
_LIST = [object()]
ITS_LIST = getrefcount(_LIST[0])


class Buffers:
    """Makes arrays as NumPy does, in memory of earlier ones of the same size that are gone; for one caller.

    An array is a view of the memory, which NumPy keeps alive for each view of it and for each view of that:
    memory whose list alone holds it has no reader left. (A finaliser could tell too, but swallows a Ctrl-C
    that arrives while its Python code runs.)
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[np.ndarray]] = {}

    def maker(self, most: int, zeroed: bool) -> Callable[..., np.ndarray]:
        """`zeros` or `empty` for arrays of so many bytes at most: NumPy's own where none of them is large."""
        if most < LARGE:
            return np.zeros if zeroed else np.empty
        return self.zeros if zeroed else self.empty

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """`numpy.empty`; a large array does not own its memory."""
        return self._array(np.empty, shape, dtype)[0]

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """`numpy.zeros`, likewise."""
        array, used = self._array(np.zeros, shape, dtype)
        if used:
            array.reshape(-1).view(np.uint8).fill(0)
        return array

    def forget(self) -> None:
        """Let go of all memory that is kept: other sizes are to come, or none."""
        self._kept.clear()

    def _array(self, make: Callable, shape: int | tuple[int, ...], dtype: Any) -> tuple[np.ndarray, bool]:
        """An array as `make` makes it, or in memory that nobody holds any more; and whether it is that."""
        size = np.dtype(dtype).itemsize * math.prod(shape if isinstance(shape, tuple) else (shape,))
        if size < LARGE:
            return make(shape, dtype), False
        kept = self._kept.setdefault(size, [])
        for at in range(len(kept)):
            if getrefcount(kept[at]) == ITS_LIST:
                return kept[at].view(dtype).reshape(shape), True
        if len(kept) == MOST_KEPT:
            kept.pop(0)  # somebody has held it for long
        kept.append(make(size, np.uint8))  # of zeros, the pages are not touched here
        return kept[-1].view(dtype).reshape(shape), False
