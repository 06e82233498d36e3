"""What events do to agents, cells and armies; scalar functions that the handlers of `Battle` call."""

from __future__ import annotations

from seer_env.envs.battle.constants import FIRST_ATTACK, LOOKAHEAD, NOBODY, Kind

__all__ = ["arrive", "begin_step", "count_hit", "in_blue", "let_in", "take_hit"]


def in_blue(agent, params):
    """Whether an agent is in the second army."""
    return agent >= params.half


def begin_step(me, action, sim):
    """An agent recovers, then strikes whoever is on the cell it aims at, or asks that cell to let it in.

    Nothing moves between the boundary and the attacks, so the boundary shows who is struck.
    """
    params = sim.params
    me.shown = min(me.shown + params.recovery, params.max_hp)
    me.earned = params.step_reward
    if action >= FIRST_ATTACK:
        me.earned += params.attack_penalty
    if not sim.tables.legal[me.cell - params.first_cell, action]:
        return
    target = me.cell + sim.tables.aim[action]
    occupant = int(sim.view(target).shown)
    if action < FIRST_ATTACK:
        if occupant == NOBODY:
            sim.emit(target, LOOKAHEAD, Kind.ENTER, sim.me, me.cell)
    elif occupant != NOBODY and in_blue(occupant, params) != in_blue(sim.me, params):
        sim.emit(occupant, LOOKAHEAD, Kind.HIT, sim.me)


def take_hit(me, attacker, sim):
    """An agent loses health and tells the attacker. If that kills it, it leaves its cell and its army."""
    if me.shown < 0.0:
        return  # killed by an earlier hit of this step
    me.shown -= sim.params.damage
    killed = me.shown < 0.0
    if killed:
        me.earned += sim.params.dead_penalty
        sim.emit(me.cell, LOOKAHEAD, Kind.LEAVE)
        sim.emit(sim.n_agents + int(in_blue(sim.me, sim.params)), LOOKAHEAD, Kind.FALL)
    sim.emit(attacker, LOOKAHEAD, Kind.STRUCK, 1.0 if killed else 0.0)


def count_hit(me, killed, params):
    """An agent's attack met an opponent that was alive, and may have killed it."""
    me.hits += 1
    me.earned += params.attack_opponent_reward
    if killed:
        me.kills += 1
        me.earned += params.kill_reward


def let_in(me, agent, origin, sim):
    """A cell takes the first agent that asks, and frees the cell that it comes from."""
    if me.shown == NOBODY:
        me.shown = agent
        sim.emit(agent, LOOKAHEAD, Kind.MOVED, sim.me)
        sim.emit(origin, LOOKAHEAD, Kind.LEAVE)


def arrive(me, cell, sim):
    """An agent stands on its new cell; one that was killed on its way leaves it again."""
    if me.shown < 0.0:
        sim.emit(cell, LOOKAHEAD, Kind.LEAVE)
    else:
        me.cell = cell
