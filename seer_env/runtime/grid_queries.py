"""Source of the grid queries, written out for a number of dimensions and of neighbours.

`nearest` keeps its k best candidates in local variables, which the compiler turns into registers;
that needs code with k written out. The same source runs compiled and in plain Python.

A query visits rows of cells (z, then y, low to high); in a row one run of cells inside the
bounds, then one beyond the seam of a torus. `shift` moves the asker instead of each candidate.
Where a query's reach covers a whole dimension of a torus each cell is visited once, and the
shortest way round is taken per candidate (`around`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from seer_env.runtime.grid import clamped_cell, nearest_image

AXES = "xyz"


@cache
def nearest_function(dimensions: int, k: int) -> Callable:
    """`nearest(cells, starts, order, x, y, z, j, radius) -> (count, ids)`.

    `j` is the asker's rank. `count` is the number of other entities nearer than `radius`, `ids`
    the `k` nearest of them, -1 where there are fewer. Of equally near ones the first visited wins.
    """
    best = "\n".join(f"    b{i} = radius * radius\n    e{i} = -1" for i in range(k))
    keep = _insertion(k, 0, "    ") if k else "pass"
    ids = "".join(f"int64(order[e{i}]) if e{i} >= 0 else int64(-1), " for i in range(k))
    last = f"b{k - 1}" if k else "-1.0"
    body = f"""
inside = q < square
count += inside
if q < {last} and c != j:
{_indent(keep, 4)}
"""
    return _query(
        f"nearest_{dimensions}d_{k}",
        "cells, starts, order, x, y, z, j, radius",
        f"{best}\n    count = -1  # the asker counts itself",
        body,
        f"return max(count, 0), ({ids})",
        dimensions,
    )


@cache
def within_function(dimensions: int) -> Callable:
    """`within(cells, starts, order, x, y, z, j, radius, found) -> count`, ids into `found`."""
    body = """
if q < square and c != j:
    found[count] = order[c]
    count += 1
"""
    return _query(
        f"within_{dimensions}d",
        "cells, starts, order, x, y, z, j, radius, found",
        "    count = 0",
        body,
        "return count",
        dimensions,
    )


def _insertion(k: int, position: int, unit: str) -> str:
    """Nested insertion into b0 <= b1 <= ... from the far end, as one decision tree."""
    i = k - 1 - position
    place = f"b{i} = q\ne{i} = c"
    if i == 0:
        return place
    shift = f"b{i} = b{i - 1}\ne{i} = e{i - 1}"
    deeper = _indent(_insertion(k, position + 1, unit), 4)
    return f"if q < b{i - 1}:\n{_indent(shift, 4)}\n{deeper}\nelse:\n{_indent(place, 4)}"


def _rows(axis: str) -> str:
    """Range of rows along y or z: first, last (unwrapped), and whether it covers the torus."""
    n, period = f"cells.n{axis}", f"cells.period_{axis}"
    return f"""
c{axis} = clamped_cell({axis}j, cells.low_{axis}, cells.inverse_{axis}, {n})
reach = int(math.ceil(radius * cells.inverse_{axis}))
first_{axis} = c{axis} - reach
last_{axis} = c{axis} + reach
around_{axis} = {period} > 0.0 and 2 * reach + 1 >= {n}
if around_{axis} or {period} == 0.0:
    first_{axis} = max(first_{axis}, 0) if not around_{axis} else 0
    last_{axis} = min(last_{axis}, {n} - 1) if not around_{axis} else {n} - 1
"""


def _row_shift(axis: str) -> str:
    """The row of cells, and the asker's coordinate moved to the near side of the seam."""
    return f"""
row_{axis} = {axis}_
o{axis} = {axis}j
if {axis}_ < 0:
    row_{axis} += cells.n{axis}
    o{axis} += cells.period_{axis}
elif {axis}_ >= cells.n{axis}:
    row_{axis} -= cells.n{axis}
    o{axis} -= cells.period_{axis}
"""


_RUNS = """
for part in range(2):
    ox = xj
    if part == 0:
        lo = max(first_x, 0)
        hi = min(last_x, cells.nx - 1)
    elif first_x < 0:
        lo = cells.nx + first_x
        hi = cells.nx - 1
        ox += cells.period_x
    elif last_x >= cells.nx:
        lo = 0
        hi = last_x - cells.nx
        ox -= cells.period_x
    else:
        break
    for c in range(starts[base + lo], starts[base + hi + 1]):
"""


def _query(name: str, arguments: str, setup: str, visit: str, result: str, dimensions: int) -> Callable:
    axes = AXES[:dimensions]
    lines = [f"def {name}({arguments}):", "    square = radius * radius"]
    lines += [f"    {a}j = {a}[j]" for a in axes]
    lines += [_indent(_rows(a), 4) for a in axes]
    lines += ["    around = " + " or ".join(f"around_{a}" for a in axes), setup]
    depth = 4
    for axis in reversed(axes[1:]):
        lines.append(" " * depth + f"for {axis}_ in range(first_{axis}, last_{axis} + 1):")
        depth += 4
        lines.append(_indent(_row_shift(axis), depth))
    base = {1: "0", 2: "row_y * cells.nx", 3: "(row_z * cells.ny + row_y) * cells.nx"}[dimensions]
    lines += [" " * depth + f"base = {base}", _indent(_RUNS, depth)]
    depth += 8
    for axis in axes:
        lines.append(" " * depth + f"d{axis} = {axis}[c] - o{axis}")
    lines.append(" " * depth + "if around:")
    lines += [" " * (depth + 4) + f"d{a} = nearest_image(d{a}, cells.period_{a})" for a in axes]
    lines.append(" " * depth + "q = " + " + ".join(f"d{a} * d{a}" for a in axes))
    lines += [_indent(visit, depth), f"    {result}"]
    source = "\n".join(lines)
    scope = {"clamped_cell": clamped_cell, "nearest_image": nearest_image, "math": math, "int64": np.int64}
    exec(compile(source, f"<seer_env grid query {name}>", "exec"), scope)
    function = scope[name]
    function.source = source
    return function


def _indent(text: str, width: int) -> str:
    return "\n".join(" " * width + line for line in text.strip("\n").split("\n") if line.strip())
