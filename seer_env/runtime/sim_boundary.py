"""What `sim` shows of the world at the last boundary: public fields and the grid's neighbours."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload_attribute, overload_method

from seer_env.runtime.atomics import array_at
from seer_env.runtime.grid import Cells, clamped_cell, nearest_image
from seer_env.runtime.grid_queries import NEAR_BUFFER, nearest_function, within_function
from seer_env.runtime.layout import CONTROL, WORKER
from seer_env.runtime.sim_type import SimType, address_of, control_of, fixed_field, kernel, n_of, read_only

found_of, near_of = fixed_field(WORKER, "found"), fixed_field(WORKER, "near")
public_of, starts_of = fixed_field(CONTROL, "public"), fixed_field(CONTROL, "starts")
order_of, rank_of = fixed_field(CONTROL, "order"), fixed_field(CONTROL, "rank")
x_of, y_of, z_of = (fixed_field(CONTROL, axis) for axis in "xyz")
nx_of, ny_of, nz_of = (fixed_field(CONTROL, "cells_i", d) for d in range(3))
inverse_x_of, inverse_y_of, inverse_z_of = (fixed_field(CONTROL, "cells_f", d) for d in range(3))
low_x_of, low_y_of, low_z_of = (fixed_field(CONTROL, "cells_f", 3 + d) for d in range(3))
periods_of = tuple(fixed_field(CONTROL, "cells_f", 6 + d) for d in range(3))
period_x_of, period_y_of, period_z_of = periods_of


compiled_cell, compiled_image = kernel(clamped_cell), kernel(nearest_image)


def _need_grid(sim, word: str) -> int:
    if not sim.spec.dimensions:
        raise TypingError(f"sim.{word}: the model declares no grid: set `grid` to a Grid")
    return sim.spec.dimensions


@kernel
def cells_at(control):
    """The grid's geometry, of the control record at an address."""
    return Cells(
        nx_of(control),
        ny_of(control),
        nz_of(control),
        inverse_x_of(control),
        inverse_y_of(control),
        inverse_z_of(control),
        low_x_of(control),
        low_y_of(control),
        low_z_of(control),
        period_x_of(control),
        period_y_of(control),
        period_z_of(control),
    )


@kernel
def index_at(control):
    """The grid's arrays, of the control record at an address: starts, order, rank, x, y, z."""
    return (
        array_at(starts_of(control), np.int64),
        array_at(order_of(control), np.int32),
        array_at(rank_of(control), np.int32),
        array_at(x_of(control), np.float64),
        array_at(y_of(control), np.float64),
        array_at(z_of(control), np.float64),
    )


@overload_method(SimType, "view")
def _view(sim, j):
    if not sim.spec.public.names:
        raise TypingError("sim.view: the model declares no public fields: name some in `public`")
    dtype, ranked = sim.spec.public, sim.spec.dimensions > 0

    def view(sim, j):
        control = control_of(address_of(sim))
        if not 0 <= j < n_of(control):
            raise IndexError("sim.view: no such entity")
        rows = array_at(public_of(control), dtype)
        if ranked:
            return read_only(rows[array_at(rank_of(control), np.int32)[j]])
        return read_only(rows[j])

    return view


@overload_method(SimType, "offset")
def _offset(sim, j):
    dimensions = _need_grid(sim, "offset")
    deltas = [kernel(_delta_function(d)) for d in range(dimensions)]
    first, second, third = (deltas + [None] * 2)[:3]
    if dimensions == 1:
        return lambda sim, j: (first(sim, j),)
    if dimensions == 2:
        return lambda sim, j: (first(sim, j), second(sim, j))
    return lambda sim, j: (first(sim, j), second(sim, j), third(sim, j))


def _delta_function(d: int):
    image, axis, period_of = compiled_image, 3 + d, periods_of[d]

    def delta(sim, j):
        control = control_of(address_of(sim))
        if not 0 <= j < n_of(control):
            raise IndexError("sim.offset: no such entity")
        index = index_at(control)
        rank = index[2]
        values = index[axis]
        return image(values[rank[j]] - values[rank[sim.me]], period_of(control))

    return delta


@intrinsic
def _select(typingctx, condition, a, b):
    """`grid_queries.choose`, without a branch."""
    result = typingctx.unify_types(a, b)

    def codegen(context, builder, sig, args):
        values = [context.cast(builder, args[k], sig.args[k], result) for k in (1, 2)]
        return builder.select(args[0], *values)

    return result(types.boolean, result, result), codegen


@cache
def compiled_query(function):
    """A query of `grid_queries.py`, compiled."""
    scope = dict(function.__globals__)
    scope.update(clamped_cell=compiled_cell, nearest_image=compiled_image, choose=_select)
    return kernel(with_globals(function, scope))


def with_globals(function, scope: dict):
    """The same code over other globals."""
    from types import FunctionType

    clone = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    scope.setdefault("__name__", __name__)
    clone.__module__ = __name__
    return clone


@overload_method(SimType, "nearest", prefer_literal=True)
def _nearest(sim, k, radius):
    dimensions = _need_grid(sim, "nearest")
    if not isinstance(k, types.IntegerLiteral) or not 0 <= k.literal_value <= 32:
        raise TypingError("sim.nearest(k, radius): k must be written as a literal integer in 0..32")
    query = compiled_query(nearest_function(dimensions, k.literal_value))

    def nearest(sim, k, radius):
        control = control_of(address_of(sim))
        starts, order, rank, x, y, z = index_at(control)
        scratch = near_of(address_of(sim))
        near_q = array_at(scratch, np.float64)
        near_c = array_at(scratch + 8 * NEAR_BUFFER, np.int64)
        j = np.int64(rank[sim.me])
        return query(cells_at(control), starts, order, x, y, z, j, np.float64(radius), near_q, near_c)

    return nearest


@overload_attribute(SimType, "scratch")
def _scratch(sim):
    return lambda sim: array_at(near_of(address_of(sim)), np.int64)


@overload_method(SimType, "within")
def _within(sim, radius):
    query = compiled_query(within_function(_need_grid(sim, "within")))

    def within(sim, radius):
        control = control_of(address_of(sim))
        starts, order, rank, x, y, z = index_at(control)
        found = array_at(found_of(address_of(sim)), np.int64)
        j = np.int64(rank[sim.me])
        return found[: query(cells_at(control), starts, order, x, y, z, j, np.float64(radius), found)]

    return within
