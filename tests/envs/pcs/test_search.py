"""The search finds the number of guard channels that the reward's weights make best."""

import pytest

from seer_env.envs.pcs.search import Search, search_guard

WORLD = {"n_agents": 36, "max_cycles": 10, "channels": 10, "interarrival": 8.0, "max_guard": 2}


@pytest.mark.parametrize(
    ("weights", "best"),
    [
        ({"w_blocked": 5.0, "w_dropped": 0.0}, 0),  # only new calls count
        ({"w_carried": 0.0, "w_blocked": 0.0, "w_dropped": 5.0, "w_power": 0.0}, 2),  # only calls in progress
    ],
)
def test_the_best_number_follows_the_weights(weights, best):
    found, results = search_guard({**WORLD, **weights}, seeds=[0, 1])
    assert found == best
    assert len(results) == 3
    assert results[0].blocked < results[2].blocked
    assert results[0].dropped > results[2].dropped


def test_the_command_prints_a_row_for_every_number(capsys):
    world = "channels=10", "interarrival=8.0", "max_guard=2"
    assert Search(agents=36, steps=3, seeds=(0,), world=world).main() == 0
    printed = capsys.readouterr().out
    assert all(f"{guard} guard channels" in printed for guard in range(3))
    assert "threshold" in printed
