"""A replay finds the slots it needs, whoever held them at the checkpoint."""

import numpy as np
import pytest
from runtime_worlds import Fault, Faulty, orders

from seer_env.errors import ContractBreach
from seer_env.runtime.engine import make_engine


def test_a_replay_grows_the_pool_where_another_worker_held_the_free_slots():
    engine, live = make_engine(Faulty(64), "seer", 2), np.ones(64, bool)
    engine.reset(3)
    for _ in range(2):
        engine.step(orders(engine.model), live)
    before = engine.digest()
    # As after steps in which worker 1 took all that is free: nothing is left for the one that replays.
    checkpoint, memory = engine._checkpoint, engine._memory
    for name in ("n_free", "chunk_next", "chunk_end"):
        checkpoint._workers[name][0] = 0
    checkpoint._sync[:] = [len(memory.pool), 0]
    with pytest.raises(ContractBreach):
        engine.step(orders(engine.model, (5, Fault.SOON, 0.0)), live)
    assert engine.digest() == before
