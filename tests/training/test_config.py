"""Settings: from YAML, from the command line, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from seer_env.training.config import ConfigError, TrainConfig, dump_config, load_config, parse_arguments


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read_back(tmp_path):
    config = TrainConfig(env="pcs_v0", world={"n_agents": 7, "skew": 2.5}, hidden=(8, 4), run=Path("a/b"))
    assert load_config(written(tmp_path, dump_config(config))) == config


def test_the_command_line_overrides_the_file(tmp_path):
    path = written(
        tmp_path, "env: pcs_v0\nworld: {n_agents: 100, channels: 20}\nupdates: 7\nlearning_rate: 1"
    )
    arguments = ["--updates", "9", "--world", "channels=10", "wrap=False", "--hidden", "8", "8", "8"]
    config = parse_arguments(arguments, load_config(path), "train")
    assert (config.env, config.updates, config.learning_rate, config.hidden) == ("pcs_v0", 9, 1.0, (8, 8, 8))
    assert config.world == {"n_agents": 100, "channels": 10, "wrap": False}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 0.1", "no setting 'learning_rat'; did you mean learning_rate?"),
        ("xyzzy: 1", "no setting 'xyzzy'; `seer-env train --help` lists all"),
        ("updates: many", "updates must be of type int, got 'many'"),
        ("updates: true", "updates must be of type int, got True"),
        ("hidden: [8, a]", "hidden must be of type"),
        ("world: 3", "world must be of type"),
        ("discount: 1.5", "discount must be from 0 to 1, got 1.5"),
        ("hidden: []", "hidden must be one or more layers"),
        ("elastic: true", "elastic: with staleness=0 rollouts and training take turns"),
        ("{elastic: true, staleness: 1, threads: 2}", "it decides threads, which must be left out, got 2"),
        ("{elastic: true, staleness: 1, torch_threads: 1}", "elastic: it decides torch_threads"),
        ("{elastic: true, staleness: 1, engine: ray}", "elastic: workers of engine=ray have cores"),
        ("{elastic: true, staleness: 1, device: cuda}", "elastic: training on device=cuda leaves its cores"),
        ("elastic: 1", "elastic must be of type bool, got 1"),
        ("- 3", "expected settings"),
        ("a: [", "while parsing"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(ConfigError, match=r"config\.yaml") as error:
        load_config(written(tmp_path, text))
    assert message in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_config(tmp_path / "nowhere.yaml")


def test_an_unknown_option_is_refused_with_the_nearest(capsys):
    with pytest.raises(SystemExit):
        parse_arguments(["--learning-rat", "1"], TrainConfig(), "train")
    assert "--learning-rate" in capsys.readouterr().err


def test_schedules_are_linear_from_the_first_update_to_the_last():
    config = TrainConfig(updates=5)
    assert [config.scheduled(update, 1.0, 0.0) for update in range(5)] == [1.0, 0.75, 0.5, 0.25, 0.0]
