"""`train`, `evaluate` and `play` as a user runs them, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from gymnasium import spaces
from PIL import Image
from safetensors.torch import save_file
from training_runs import FLOCK, GAMES

import seer_env
from seer_env.cli import main
from seer_env.training.checkpoints import Progress
from seer_env.training.config import TrainConfig, dump_config
from seer_env.training.evaluate import play_episode
from seer_env.training.networks import Actor
from seer_env.training.trainer import train

SETTINGS = """
env: battle_v0
world: {n_agents: 12}
max_cycles: 8
copies: 2
updates: 50
rollout_steps: 8
hidden: [8]
"""


def command_line(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "seer_env.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of two updates in battle_v0, made by the command itself."""
    folder = tmp_path_factory.mktemp("train")
    (folder / "battle.yaml").write_text(SETTINGS, encoding="utf-8")
    options = "--updates", "2", "--run", str(folder / "run")
    done = command_line("train", "--config", str(folder / "battle.yaml"), *options)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 updates, 384 decisions" in done.stdout.replace("\n", " "), "2 x 8 steps of 2 x 12 agents"
    return folder / "run"


def test_a_run_leaves_its_settings_figures_and_checkpoint(run):
    assert "updates: 2\n" in (run / "config.yaml").read_text()
    assert len((run / "progress.csv").read_text().splitlines()) == 3
    assert list(run.glob("events.out.tfevents.*"))
    assert [path.name for path in run.glob("checkpoint*")] == ["checkpoint_000002"]


def test_tensorboard_reads_the_usual_tags(run):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reader.EventAccumulator(str(run)).Reload()
    tags = events.Tags()["scalars"]
    assert {"charts/episodic_return", "charts/SPS", "losses/policy_loss", "losses/entropy"} <= set(tags)
    assert [event.step for event in events.Scalars("losses/value_loss")] == [1, 2]


def test_evaluate_counts_battles_against_every_baseline(run, tmp_path, capsys):
    assert main(["evaluate", str(run), "--episodes", "2", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["opponents"].keys() == {"random", "rush"}
    for battles in found["opponents"].values():
        assert battles["won"] + battles["lost"] + battles["drawn"] == 2
    assert "rush" in capsys.readouterr().out


def test_play_films_more_agents_than_were_trained(run, tmp_path, capsys):
    film = tmp_path / "battle.gif"
    options = "--agents", "24", "--steps", "3", "--opponent", "rush", "--video", str(film)
    assert main(["play", str(run), *options]) == 0
    with Image.open(film) as frames:
        assert frames.n_frames == 3
    assert "trained against rush" in capsys.readouterr().out


def test_evaluate_lets_an_actor_act_for_ten_times_as_many_agents_as_it_was_trained_with(tmp_path, capsys):
    """Beside the baselines in the very same episodes: those of the seeds, counted here once more."""
    world = {"channels": 10, "max_guard": 2}
    config = TrainConfig(
        env="pcs_v0", world=world | {"n_agents": 16}, max_cycles=4, run=tmp_path, copies=1, updates=1,
        rollout_steps=4, hidden=(8,),
    )  # fmt: skip
    train(config)
    options = "--agents", "160", "--episodes", "2", "--seed", "7", "--json", str(tmp_path / "found.json")
    assert main(["evaluate", str(tmp_path), *options]) == 0
    assert "160 agents, seeds 7 to 8" in " ".join(capsys.readouterr().out.split())
    found = json.loads((tmp_path / "found.json").read_text())["policies"]
    assert found.keys() == {"trained", "random", "fixed", "guard", "threshold"}
    env = seer_env.make("pcs_v0", n_agents=160, max_cycles=4, **world)
    for name in ("fixed", "guard"):
        rewards = [play_episode(env, env.policies[name], seed)["reward"] for seed in (7, 8)]
        assert found[name]["reward"][0] == pytest.approx(sum(rewards) / 2)
    env.close()


@pytest.mark.parametrize("command", ["evaluate", "play"])
def test_a_world_in_which_the_policy_cannot_act_is_refused_before_it_is_compiled(
    tmp_path, monkeypatch, capsys, command
):
    config = TrainConfig(env="pcs_v0", world={"n_agents": 100, "topology": "square"}, hidden=(8,))
    actor = Actor(40, spaces.Discrete(7), config.hidden).state_dict()
    save_file({f"actor.{name}": tensor for name, tensor in actor.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    monkeypatch.setattr("seer_env.env.SeerParallelEnv", None)
    assert main([command, str(tmp_path), "--agents", "7"]) == 1
    refused = (
        "an observation has 24 numbers with 7 agents in pcs_v0; the policy was trained on 40, so it cannot"
    )
    assert f"{refused} act there" in capsys.readouterr().err


@pytest.fixture(scope="module")
def spread(tmp_path_factory) -> Path:
    """A run of one update in PettingZoo's simple_spread."""
    pytest.importorskip("mpe2", reason="PettingZoo's particle envs are a package of their own")
    run = tmp_path_factory.mktemp("train") / "spread"
    config = TrainConfig(
        env="mpe2.simple_spread_v3:parallel_env", world={"max_cycles": 10}, run=run, copies=1, updates=1,
        rollout_steps=10, hidden=(8,),
    )  # fmt: skip
    train(config)
    return run


def test_evaluate_compares_with_random_in_an_env_of_pettingzoo(spread, tmp_path):
    assert main(["evaluate", str(spread), "--episodes", "3", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["policies"].keys() == {"trained", "random"}
    estimate, low, high = found["policies"]["random"]["return"]
    assert low <= estimate <= high < 0, "its rewards are negative distances"
    assert found["policies"]["trained"]["return"][0] == pytest.approx(
        10 * found["policies"]["trained"]["reward"][0]
    ), "episodes have 10 steps"


def test_play_films_an_env_of_pettingzoo_with_its_own_pictures(spread, tmp_path, capsys):
    film, picture = tmp_path / "spread.gif", tmp_path / "spread.png"
    options = "--steps", "12", "--video", str(film), "--video-every", "4", "--picture", str(picture)
    assert main(["play", str(spread), *options]) == 0
    with Image.open(film) as frames, Image.open(picture) as last:
        assert frames.n_frames == 3
        assert frames.size == last.size == (700, 700), "the size of mpe2's pictures"
    assert "12 of 12, 2 episode(s)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agents", "9"], "--agents 9: mpe2.simple_spread_v3:parallel_env has arguments of its own"),
        (
            ["--world", "N=4"],
            "24 numbers with 4 agents in mpe2.simple_spread_v3:parallel_env; the policy was",
        ),
        (["--world", "wings=2"], "wings"),
        (["--opponent", "rush"], "has no sides"),
        (["--steps", "0"], "--steps 0"),
        (["--picture", "here.bmp"], "a picture is a .png file"),
    ],
)
def test_play_refuses_what_an_env_of_pettingzoo_has_not(spread, arguments, message, capsys):
    assert main(["play", str(spread), *arguments]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_folder_with_a_run_is_not_trained_over(run, capsys):
    assert main(["train", "--config", str(run / "config.yaml"), "--run", str(run)]) == 1
    assert f"--resume {run} goes on" in capsys.readouterr().err


def test_resume_goes_on_with_the_runs_own_settings(run, tmp_path, capsys):
    assert main(["train", "--resume", str(run), "--updates", "3", "--run", str(tmp_path)]) == 0
    assert "3 of 3 updates, 576 decisions" in capsys.readouterr().out.replace("\n", " ")


def test_a_finished_run_says_so_and_how_it_goes_on_further(run, capsys):
    assert main(["train", "--resume", str(run)]) == 0
    last = run / "checkpoint_000002"
    assert capsys.readouterr().out == f"{last} is finished: 2 of 2 updates; --updates N goes on to N\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["flock_v0", "--world", "n_agents=3000"], "flock_v0: 3,000 agents, copies=7, updates=100, run="),
        ([f"{GAMES}:Patience"], f"{GAMES}:Patience: 2 agents, copies=7, updates=100, run="),
    ],
)
def test_the_first_line_says_what_is_trained_and_where(tmp_path, monkeypatch, capsys, arguments, line):
    monkeypatch.setattr("seer_env.training.trainer.train", lambda config, _: Progress(config.updates))
    assert main(["train", "--copies", "7", "--run", str(tmp_path), "--env", *arguments]) == 0
    assert capsys.readouterr().err.splitlines()[0] == f"{line}{tmp_path}"


def test_an_env_is_found_in_the_working_directory(tmp_path):
    """As `module:Class`; in a process of its own, as an installed command begins without that directory."""
    source = Path(__file__).parents[1] / "parallel_games.py"
    (tmp_path / "my_games.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    program = """
import sys
sys.path.remove("")
from seer_env.cli import main
sys.exit(main(sys.argv[1:]))
"""
    options = "--env", "my_games:Patience", "--updates", "1", "--rollout-steps", "4"
    for arguments in (("train", *options, "--run", "run"), ("evaluate", "run", "--episodes", "2")):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def patience(tmp_path_factory) -> Path:
    """A run of one update in a PettingZoo env without pictures."""
    run = tmp_path_factory.mktemp("train") / "patience"
    train(TrainConfig(env=f"{GAMES}:Patience", run=run, copies=1, updates=1, rollout_steps=4, hidden=(8,)))
    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "--video", "x.gif"], "patience: draws no pictures"),
        (["play", "--seed", "-1"], "--seed -1: at least 0"),
        (["evaluate", "--seed", "-1"], "--seed -1: at least 0"),
        (["evaluate", "--max-cycles", "0"], "max_cycles must be at least 1, got 0"),
    ],
)
def test_what_a_checkpoint_cannot_do_is_refused_by_name(
    patience, arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main([arguments[0], str(patience), *arguments[1:]]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_episodes_that_never_end_are_not_waited_for(tmp_path, capsys):
    train(dataclasses.replace(FLOCK, updates=1, max_cycles=None, run=tmp_path))
    assert main(["evaluate", str(tmp_path)]) == 1
    assert "flock: its episodes never end; name their steps with --max-cycles" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path), "--max-cycles", "3", "--episodes", "2"]) == 0


def test_an_interval_needs_two_episodes(spread, capsys):
    assert main(["evaluate", str(spread), "--episodes", "1"]) == 1
    assert "--episodes 1: an interval needs at least 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--config", "nowhere.yaml"], "seer-env: nowhere.yaml: No such file or directory\n"),
        (["curves", "nowhere"], f"seer-env: {Path('nowhere/config.yaml')}: No such file or directory\n"),
        (["train", "--config", "a.yaml", "--resume", "b"], "name one"),
        (["train", "--env", "pcs_v1"], "no world 'pcs_v1': did you mean pcs_v0? there are ['aircraft_v0', "),
        (["train", "--updates", "0"], "updates must be at least 1, got 0"),
        (["train", "--resume", "nowhere"], "there is no folder nowhere"),
        (["evaluate", "nowhere"], "there is no folder nowhere"),
        (["play", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(arguments, message, capsys):
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_training_without_its_packages_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["train"]) == 1
    assert 'training needs torch: pip install "seer-env[train]"' in capsys.readouterr().err


def test_a_world_is_stepped_without_torch():
    program = """
import sys
import seer_env
from seer_env.cli import main
import seer_env.envs.aircraft_v0, seer_env.envs.battle_v0, seer_env.envs.pcs_v0
status = main("run flock_v0 --agents 8 --steps 2 --scheduler python".split())
assert not [name for name in sys.modules if name.partition(".")[0] in ("torch", "safetensors")]
sys.exit(status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
