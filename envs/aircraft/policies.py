"""Baseline policies, vectorised over agents: `policy(env) -> actions [M, 3]`.

`goal` flies the route; `mvp` flies it and solves conflicts with the Modified Voltage Potential
(Hoekstra, van Gent and Ruigrok 2002; the resolver of BlueSky) over the neighbours that an aircraft
has heard of, so it uses nothing that its observation does not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.envs.aircraft.constants import DISCRETE_LEVELS

#: Resolutions aim at this multiple of the separation minima.
MARGIN_H, MARGIN_V = 1.1, 1.1
#: Altitude errors are flown off with this time constant, s.
ALTITUDE_TIME = 40.0


def goal(env: Any) -> np.ndarray:
    """Fly to the next waypoint at the route's speed and altitude; float32 `[M, 3]` (int64 if discrete)."""
    model, state = env.model, env.entities
    return commands(model, state, preferred_velocity(model, state))


def mvp(env: Any) -> np.ndarray:
    """As `goal`, less the sum of the resolutions of all conflicts heard of.

    They are taken off the velocity flown; where that is free of conflicts, off the one that follows
    the route, so that an aircraft does not return to its route into the conflict that it left.
    """
    model, state = env.model, env.entities
    now = np.stack([state["vx"], state["vy"], state["climb"]], axis=1)
    later = preferred_velocity(model, state)
    change_now, change_later = (_change(model, state, velocity) for velocity in (now, later))
    in_conflict = (change_now != 0).any(axis=1)
    velocity = np.where(in_conflict[:, None], now - change_now, later - change_later)
    return commands(model, state, velocity)


def _change(model, state: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    r, w, heard = relative_motion(model, state, velocity)
    radius, height = MARGIN_H * model.params["separation_h"], MARGIN_V * model.params["separation_v"]
    return resolution(r, w, heard, radius, height, model.params["horizon"]).sum(axis=1)


POLICIES = {"goal": goal, "mvp": mvp}


def preferred_velocity(model, state: np.ndarray) -> np.ndarray:
    """Velocity over the ground that follows the route, float64 `[M, 3]`, m/s."""
    tables = model.tables
    point = state["point"]
    ends = []
    for p in (point - 1, point):
        x = state["mirror_x"] * tables["route_x"][p] + state["shift_x"]
        y = state["mirror_y"] * tables["route_y"][p] + state["shift_y"]
        ends.append(np.stack([x, y, tables["route_z"][p] + state["shift_z"]], axis=1))
    start, end = ends
    length = np.hypot(*(end - start)[:, :2].T)
    duration = tables["route_t"][point] - tables["route_t"][point - 1]
    ahead = end[:, :2] - np.stack([state["x"], state["y"]], axis=1)
    away = np.maximum(np.hypot(*ahead.T), 1.0)
    profile = end[:, 2] + (start - end)[:, 2] * np.minimum(away / length, 1.0)
    climb = (end - start)[:, 2] / duration + (profile - state["z"]) / ALTITUDE_TIME
    horizontal = ahead * (length / duration / away)[:, None]
    return np.concatenate([horizontal, np.clip(climb, -15.0, 15.0)[:, None]], axis=1)


def commands(model, state: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Actions that turn aircraft to a velocity over the ground `[M, 3]`, wind allowed for."""
    params = model.params
    east, north = velocity[:, 0] - state["wind_x"], velocity[:, 1] - state["wind_y"]
    turn = np.arctan2(north, east) - state["heading"]
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    wanted = np.stack(
        [
            turn / params["heading_step"],
            (np.hypot(east, north) - state["speed"]) / params["speed_step"],
            (velocity[:, 2] - state["climb"]) / params["climb_step"],
        ],
        axis=1,
    )
    actions = np.clip(wanted, -1.0, 1.0)
    if model.discrete:
        return np.rint((actions + 1.0) * (DISCRETE_LEVELS - 1) / 2).astype(np.int64)
    return actions.astype(np.float32)


def relative_motion(model, state: np.ndarray, velocity: np.ndarray):
    """Reported neighbours seen from aircraft that fly `velocity`.

    Returns:
        r, w: float64 `[M, K, 3]`, relative position (extrapolated to now) and velocity.
        heard: bool `[M, K]`, whether the slot holds a neighbour.
    """
    age = (model.params["step"] * (state["near_age"] + 1))[..., None]
    other = np.stack([state["near_vx"], state["near_vy"], state["near_vz"]], axis=-1)
    place = np.stack([state["near_x"], state["near_y"], state["near_z"]], axis=-1) + other * age
    mine = np.stack([state["x"], state["y"], state["z"]], axis=-1)
    return place - mine[:, None], other - velocity[:, None], state["near_id"] >= 0


def resolution(r, w, heard, radius: float, height: float, horizon: float) -> np.ndarray:
    """Modified Voltage Potential: what to take off one's velocity for each neighbour, `[..., 3]`.

    Zero where there is no conflict within `horizon`. The vertical part is half of what one aircraft
    alone would need: both cooperate.

    Args:
        r, w: float64 `[..., 3]`, neighbour's position and velocity minus one's own.
        heard: bool `[...]`, mask.
        radius, height: separation minima to restore, m.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (w[..., :2] ** 2).sum(-1)
        t_cpa = np.where(square > 1e-12, -(r[..., :2] * w[..., :2]).sum(-1) / square, 0.0)
        c = r[..., :2] + w[..., :2] * t_cpa[..., None]
        d, distance = np.linalg.norm(c, axis=-1), np.linalg.norm(r[..., :2], axis=-1)
        half = np.sqrt(np.maximum(radius**2 - d**2, 0.0) / square)
        side_a, side_b = (-height - r[..., 2]) / w[..., 2], (height - r[..., 2]) / w[..., 2]
        moving = np.abs(w[..., 2]) > 1e-9
        level = np.abs(r[..., 2]) < height
        v_in = np.where(moving, np.minimum(side_a, side_b), np.where(level, -np.inf, np.inf))
        v_out = np.where(moving, np.maximum(side_a, side_b), np.where(level, np.inf, -np.inf))
        t_in, t_out = np.maximum(t_cpa - half, v_in), np.minimum(t_cpa + half, v_out)
        conflict = heard & (d < radius) & (t_in <= t_out) & (t_out > 0) & (t_in < horizon)
        horizontal = _horizontal(r, c, d, distance, t_cpa, radius)
        vertical = _vertical(r[..., 2], w[..., 2], t_in, height)
    change = np.concatenate([horizontal, 0.5 * vertical[..., None]], axis=-1)
    return np.where(conflict[..., None], change, 0.0)


def _horizontal(r, c, d, distance, t_cpa, radius):
    head_on = d <= 10.0
    aside = 10.0 * np.stack([r[..., 1], -r[..., 0]], axis=-1) / np.maximum(distance, 1e-9)[..., None]
    c, d = np.where(head_on[..., None], aside, c), np.where(head_on, 10.0, d)
    outside = (radius < distance) & (d < distance)
    spread = np.cos(np.arcsin(np.minimum(radius / distance, 1.0)) - np.arcsin(np.minimum(d / distance, 1.0)))
    missing = np.where(outside, radius / spread - d, radius - d)
    return c * (missing / (np.maximum(np.abs(t_cpa), 1.0) * d))[..., None]


def _vertical(rz, wz, t_in, height):
    """Vertical change to take off: away from where the neighbour comes from."""
    closing = np.abs(wz) > 1e-9
    time = np.clip(t_in, 1.0, None)
    missing = np.where(closing, height, height - np.abs(rz))
    return missing / time * np.where(closing, -np.sign(wz), np.sign(rz))


def wind_over(model, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wind at every aircraft, as `kinematics.wind_at`; float64 `[N]` each."""
    params, u, v = model.params, model.tables["wind_u"], model.tables["wind_v"]
    n = len(u)
    gx, gy = (np.clip((state[a] - params["wind_low"]) * params["wind_inverse"], 0, n - 1) for a in "xy")
    i, j = np.minimum(gx.astype(int), n - 2), np.minimum(gy.astype(int), n - 2)
    fx, fy = gx - i, gy - j

    def blend(table):
        low = (1 - fx) * table[j, i] + fx * table[j, i + 1]
        high = (1 - fx) * table[j + 1, i] + fx * table[j + 1, i + 1]
        return state["z"] / params["ceiling"] * ((1 - fy) * low + fy * high)

    return blend(u), blend(v)
