"""Source of the grid queries, written out for a number of dimensions and of neighbours.

`nearest` keeps its k best candidates in local variables, which the compiler turns into registers;
that needs code with k written out. The same source runs compiled and in plain Python.

A query visits rows of cells (z, then y, low to high); in a row one run of cells inside the
bounds, then one beyond the seam of a torus. The asker is moved to the near side of the seam instead
of each candidate. Where a query's reach covers a whole dimension of a torus each cell is visited
once, and the shortest way round is taken per candidate (`around`).

Whether a candidate lies within the radius, and how near it is among those that do, is as good as
random, and a branch on it would be mispredicted. So candidates are compacted, and `nearest` sorts
them in by exchanges, without a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from textwrap import dedent, indent
from typing import Any

import numpy as np

from seer_env.runtime.grid import clamped_cell, nearest_image

AXES = "xyz"
#: Candidates that `nearest` compacts before it sorts them in; half of it is visited at a time.
NEAR_BUFFER = 64


def choose(condition, a, b):
    """`a` if the condition holds, else `b`; compiled to a select (`sim_boundary.py`)."""
    return a if condition else b


@cache
def nearest_function(dimensions: int, k: int) -> Callable:
    """`nearest(cells, starts, order, x, y, z, j, radius, near_q, near_c) -> (count, ids)`.

    `j` is the asker's rank. `count` is the number of other entities nearer than `radius`, `ids`
    the `k` nearest of them, -1 where there are fewer. Of equally near ones the first visited wins.
    `near_q` (float64) and `near_c` (int64) are scratch of length `NEAR_BUFFER`.
    """
    best = "".join(f"b{i} = math.inf\ne{i} = int64(-1)\n" for i in range(k))
    bubble = "".join(_EXCHANGE.format(i=i, above=i - 1) for i in range(k - 1, 0, -1))
    sort_in = _SORT_IN.format(bubble=indent((_REPLACE_LAST.format(last=k - 1) if k else "") + bubble, "    "))
    visit = _VISIT_NEAREST.format(
        half=NEAR_BUFFER // 2,
        distance=indent(_distance(dimensions), "        "),
        sort_in=indent(sort_in, "        "),
    )
    ids = "".join(f"int64(order[e{i}]) if e{i} >= 0 else int64(-1), " for i in range(k))
    nobody = ", ".join(["int64(-1)"] * k) + ("," if k else "")
    body = f"if not radius > 0.0:\n    return int64(0), ({nobody})\n"
    body += f"{best}held = int64(0)\ncount = int64(-1)  # the asker counts itself\n"
    body += _rows_and_runs(dimensions, visit) + sort_in + f"return max(count, int64(0)), ({ids})\n"
    arguments = "cells, starts, order, x, y, z, j, radius, near_q, near_c"
    return _function(f"nearest_{dimensions}d_{k}", arguments, body)


@cache
def within_function(dimensions: int) -> Callable:
    """`within(cells, starts, order, x, y, z, j, radius, found) -> count`.

    Ids go into `found`, int64, with room for one more than there are entities.
    """
    visit = _VISIT_WITHIN.format(distance=indent(_distance(dimensions), "    "))
    body = (
        "count = 0\nif not radius > 0.0:\n    return count\n"
        + _rows_and_runs(dimensions, visit)
        + "return count\n"
    )
    return _function(f"within_{dimensions}d", "cells, starts, order, x, y, z, j, radius, found", body)


# A candidate takes the last place if it is nearer, and rises past all that are farther: those that
# are equally near keep the order in which they were visited.
_REPLACE_LAST = """\
nearer = q < b{last}
b{last}, e{last} = choose(nearer, q, b{last}), choose(nearer, e, e{last})
"""

_EXCHANGE = """\
nearer = b{i} < b{above}
b{above}, b{i} = choose(nearer, b{i}, b{above}), choose(nearer, b{above}, b{i})
e{above}, e{i} = choose(nearer, e{i}, e{above}), choose(nearer, e{above}, e{i})
"""

_SORT_IN = """\
for t in range(held):
    e = near_c[t]
    q = choose(e == j, math.inf, near_q[t])
{bubble}
count += held
held = 0
"""

_VISIT_NEAREST = """\
while lo < hi:
    stop = min(lo + {half}, hi)
    for c in range(lo, stop):
{distance}
        near_q[held] = q
        near_c[held] = c
        held += choose(q < square, 1, 0)
    lo = stop
    if held >= {half}:
{sort_in}
"""

_VISIT_WITHIN = """\
for c in range(lo, hi):
{distance}
    found[count] = order[c]
    count += choose(q < square and c != j, 1, 0)
"""

_RANGE = """\
c{a} = clamped_cell({a}j, cells.low_{a}, cells.inverse_{a}, cells.n{a})
span = radius * cells.inverse_{a}
reach = int(math.ceil(span)) if span < cells.n{a} else cells.n{a}
first_{a} = c{a} - reach
last_{a} = c{a} + reach
around_{a} = cells.period_{a} > 0.0 and 2 * reach + 1 >= cells.n{a}
if around_{a}:
    first_{a} = 0
    last_{a} = cells.n{a} - 1
elif cells.period_{a} == 0.0:
    first_{a} = max(first_{a}, 0)
    last_{a} = min(last_{a}, cells.n{a} - 1)
"""

_ROW = """\
for at_{a} in range(first_{a}, last_{a} + 1):
    row_{a} = at_{a}
    o{a} = {a}j
    if at_{a} < 0:
        row_{a} += cells.n{a}
        o{a} += cells.period_{a}
    elif at_{a} >= cells.n{a}:
        row_{a} -= cells.n{a}
        o{a} -= cells.period_{a}
"""

_RUNS = """\
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
    lo, hi = starts[base + lo], starts[base + hi + 1]
"""

_BASE = {1: "base = 0\n", 2: "base = row_y * cells.nx\n", 3: "base = (row_z * cells.ny + row_y) * cells.nx\n"}


def _distance(dimensions: int) -> str:
    """Squared distance `q` of candidate `c` from the (moved) asker."""
    axes = AXES[:dimensions]
    lines = [f"d{a} = {a}[c] - o{a}\n" for a in axes] + ["if around:\n"]
    lines += [f"    d{a} = nearest_image(d{a}, cells.period_{a})\n" for a in axes]
    return "".join(lines) + "q = " + " + ".join(f"d{a} * d{a}" for a in axes) + "\n"


def _rows_and_runs(dimensions: int, visit: str) -> str:
    """The loops over rows of cells and the runs of a row, around the visit of a run."""
    axes = AXES[:dimensions]
    nest = _BASE[dimensions] + _RUNS + indent(visit, "    ")
    for axis in axes[1:]:
        nest = _ROW.format(a=axis) + indent(nest, "    ")
    ranges = "".join(f"{a}j = {a}[j]\n" + _RANGE.format(a=a) for a in axes)
    return f"square = radius * radius\n{ranges}around = {' or '.join('around_' + a for a in axes)}\n{nest}"


def _function(name: str, arguments: str, body: str) -> Callable:
    source = f"def {name}({arguments}):\n{indent(dedent(body), '    ')}"
    scope: dict[str, Any] = {
        "choose": choose,
        "clamped_cell": clamped_cell,
        "nearest_image": nearest_image,
        "math": math,
        "int64": np.int64,
    }
    exec(compile(source, f"<seer_env grid query {name}>", "exec"), scope)
    return scope[name]
