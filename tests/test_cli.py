"""The command line: what it costs to ask for help, and what each command prints, writes and returns."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

import seer_env
from seer_env.bench.names import BENCHES
from seer_env.cli import main
from seer_env.commands import run as run_module
from seer_env.commands.output import CommandError, check_writable, write_json
from seer_env.commands.tally import Tally
from seer_env.commands.world import parse_setting

HEAVY = ("numba", "matplotlib", "torch", "PIL")


class Corridor:
    """Stands in for a world: two agents, episodes of three steps, known statistics per step."""

    scheduler, threads = "serial", 1
    possible_agents = ("agent_0", "agent_1")
    last_step_stats = SimpleNamespace(
        events=10, rounds=2, shared_rounds=1, window_s=0.0, outputs_s=0.0, actions_s=0.0, dicts_s=0.0
    )

    def __init__(self, space: spaces.Space | None = None):
        self.agents: list[str] = []
        self.seeds: list[int | None] = []
        self.taken: list = []
        self.space = space or spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.policies = {"random": lambda env: np.full((2, 1), 1.0)}

    def action_space(self, agent):
        return self.space

    def warmup(self):
        pass

    def reset_arrays(self, seed=None):
        self.seeds.append(seed)
        self.agents, self.cycle = list(self.possible_agents), 0

    reset = reset_arrays

    def step_arrays(self, actions):
        self.taken.append(actions)
        self.cycle += 1
        if self.cycle == 3:
            self.agents = []

    step = step_arrays

    def render(self):
        return np.zeros((4, 6, 3), np.uint8)

    def digest(self):
        return "d1935"

    def close(self):
        pass


@pytest.fixture
def corridor(monkeypatch):
    """`seer-env run` with a `Corridor` for every world."""
    env = Corridor()
    monkeypatch.setattr(run_module, "make_world", lambda args, **more: env)
    return env


# -- help -----------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    code = f"import sys, seer_env.cli; sys.exit(', '.join(sorted(set({HEAVY}) & set(sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("command", ["run", "make-env", "doctor", "warmup", "bench", "tracks"])
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert f"seer-env {command}" in capsys.readouterr().out


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["bench", name, "--help"])
    assert exit_.value.code == 0
    assert f"seer-env bench {name}" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == seer_env.__version__


def test_the_package_runs_as_the_command_line():
    done = subprocess.run([sys.executable, "-m", "seer_env", "--version"], capture_output=True, text=True)
    assert done.stdout == f"{seer_env.__version__}\n"


def test_unknown_bench_names_the_known_ones(capsys):
    assert main(["bench", "nonsense"]) == 1
    told = capsys.readouterr().err
    assert all(name in told for name in BENCHES)


# -- run ------------------------------------------------------------------------------------------


def test_run_prints_and_writes_the_same_counts(corridor, tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert main(["run", "corridor", "--steps", "3", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())
    assert (figures["steps"], figures["agent_steps"], figures["events"]) == (3, 6, 30)
    assert figures["events_per_step"] == 10.0
    printed = capsys.readouterr().out
    assert figures["digest"] in printed
    assert "agent-steps/s" in printed


def test_run_begins_ended_episodes_anew_without_reseeding(corridor):
    main(["run", "corridor", "--steps", "7", "--seed", "5"])
    assert corridor.seeds == [5, None, None]


@pytest.mark.parametrize("steps", [3, 4])
def test_picture_shows_the_boundary_after_the_last_step(corridor, steps, tmp_path, monkeypatch, capsys):
    from PIL import Image

    cycles = []
    monkeypatch.setattr(
        Corridor, "render", lambda env: cycles.append(env.cycle) or np.zeros((4, 6, 3), np.uint8)
    )
    file = tmp_path / "world.png"
    main(["run", "corridor", "--steps", str(steps), "--picture", str(file)])
    assert cycles == [{3: 3, 4: 1}[steps]]
    with Image.open(file) as picture:
        assert picture.size == (6, 4)
    assert str(file) in capsys.readouterr().out


def test_interrupted_run_reports_what_ran(corridor, capsys, tmp_path):
    def interrupted(env):
        if len(env.taken) == 2:
            raise KeyboardInterrupt
        return np.zeros((2, 1))

    corridor.policies["random"] = interrupted
    file = tmp_path / "figures.json"
    assert main(["run", "corridor", "--steps", "9", "--json", str(file)]) == 130
    assert json.loads(file.read_text())["steps"] == 2
    assert "interrupted after 2 of 9 steps" in capsys.readouterr().out


def test_run_that_is_interrupted_before_its_first_step_has_no_digest(corridor, tmp_path, monkeypatch):
    def interrupt(env):
        raise KeyboardInterrupt

    monkeypatch.setattr(Corridor, "warmup", interrupt)
    file = tmp_path / "figures.json"
    assert main(["run", "corridor", "--json", str(file)]) == 130
    assert json.loads(file.read_text())["digest"] == ""


def test_unknown_policy_names_the_known_ones(corridor, capsys):
    assert main(["run", "corridor", "--policy", "best"]) == 1
    assert "--policy best: this world has random" in capsys.readouterr().err


def test_no_steps_are_refused(corridor, capsys):
    assert main(["run", "corridor", "--steps", "0"]) == 1
    assert "--steps 0: at least 1" in capsys.readouterr().err


def test_dict_actions_are_of_the_live_agents_only():
    env = Corridor()
    env.agents = ["agent_1"]
    assert run_module.action_dict(env, np.array([[1.0], [2.0]])) == {"agent_1": np.array([2.0])}


def test_discrete_actions_are_ints():
    env = Corridor(spaces.Discrete(4))
    env.agents = ["agent_0"]
    assert run_module.action_dict(env, np.array([[3.0], [2.0]])) == {"agent_0": 3}


def test_arrays_are_stepped_with_the_policys_block(corridor):
    main(["run", "corridor", "--steps", "1", "--arrays"])
    assert corridor.taken[0].shape == (2, 1)


# -- parts ----------------------------------------------------------------------------------------


def test_parts_of_a_step_and_the_rest_make_the_whole():
    tally = Tally()
    parts = SimpleNamespace(
        events=1, rounds=1, shared_rounds=0, actions_s=0.1, window_s=0.4, outputs_s=0.2, dicts_s=0.1
    )
    tally.add(live=1, policy_s=0.0, step_s=1.0, stats=parts)
    assert tally.other_s == pytest.approx(0.2)


def test_figures_of_no_steps_are_zeros():
    assert set(Tally().figures().values()) == {0}


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("complexity=8", ("complexity", 8)),
        ("communication=False", ("communication", False)),
        ("routes=paris", ("routes", "paris")),
        ("title=a=b", ("title", "a=b")),
    ],
)
def test_world_settings_are_python_literals_or_strings(text, setting):
    assert parse_setting(text) == setting


@pytest.mark.parametrize("text", ["complexity", "=8", "not a name=1"])
def test_malformed_world_settings_are_quoted(text):
    with pytest.raises(CommandError, match="KEY=VALUE"):
        parse_setting(text)


@pytest.mark.parametrize("setting", ["n_agents=3", "copies=4", "check=True"])
def test_what_is_no_option_of_a_world_is_refused(setting, capsys):
    assert main(["run", "flock_v0", "--world", setting]) == 1
    assert f"--world {setting.partition('=')[0]}: this is not the world's" in capsys.readouterr().err


def test_output_file_without_a_folder_is_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no folder"):
        check_writable(tmp_path / "missing" / "figures.json")


def test_output_file_that_is_a_folder_is_refused(tmp_path):
    with pytest.raises(CommandError, match="is a folder"):
        check_writable(tmp_path)


def test_figures_that_cannot_be_written_leave_the_old_file(tmp_path):
    file = tmp_path / "figures.json"
    write_json(file, {"steps": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"steps": float("nan")})
    assert json.loads(file.read_text()) == {"steps": 1}
    assert list(tmp_path.iterdir()) == [file]


# -- worlds ---------------------------------------------------------------------------------------


def test_random_policy_flies_a_real_world(tmp_path):
    file = tmp_path / "figures.json"
    options = ["--agents", "30", "--steps", "5", "--scheduler", "python", "--json", str(file)]
    assert main(["run", "flock_v0", *options]) == 0
    assert json.loads(file.read_text())["events"] == 5 * 30


def test_dicts_and_arrays_lead_to_the_same_boundary(tmp_path):
    digests = []
    for name, form in (("dicts", []), ("arrays", ["--arrays"])):
        file = tmp_path / f"{name}.json"
        main(["run", "flock_v0", "--agents", "20", "--steps", "3", "--json", str(file), *form])
        digests.append(json.loads(file.read_text())["digest"])
    assert digests[0] == digests[1]


def test_warmup_says_how_long_it_took(capsys):
    assert main(["warmup", "flock_v0", "--agents", "20"]) == 0
    assert "flock_v0 is ready" in capsys.readouterr().out


def test_unknown_world_names_the_known_ones(capsys):
    assert main(["run", "nowhere_v0"]) == 1
    assert "aircraft_v0" in capsys.readouterr().err


def test_no_agents_are_refused(capsys):
    assert main(["run", "flock_v0", "--agents", "0"]) == 1
    assert "--agents 0: at least 1" in capsys.readouterr().err


def test_world_option_that_does_not_exist_is_told(capsys):
    assert main(["run", "flock_v0", "--world", "altitude=3"]) == 1
    assert "altitude" in capsys.readouterr().err


def test_a_file_of_routes_that_is_not_there_is_told_in_a_line(capsys):
    assert main(["run", "aircraft_v0", "--world", "routes=nofile.npz"]) == 1
    assert capsys.readouterr().err == "seer-env: aircraft_v0: routes: there is no file nofile.npz\n"


def test_a_picture_under_another_ending_than_png_is_refused(tmp_path, capsys):
    assert main(["run", "aircraft_v0", "--picture", str(tmp_path / "flight.jpg")]) == 1
    assert "a picture is a .png file" in capsys.readouterr().err


def test_picture_of_a_world_that_cannot_be_drawn_is_refused(tmp_path, capsys):
    assert main(["run", "flock_v0", "--scheduler", "python", "--picture", str(tmp_path / "flock.png")]) == 1
    assert "render_mode" in capsys.readouterr().err


# -- tracks ---------------------------------------------------------------------------------------


@pytest.fixture
def reports(tmp_path):
    """A CSV of one aircraft that flies east at 200 m/s for half an hour, a report each ten seconds."""
    rows = ["time,icao24,lat,lon,baroaltitude"]
    rows += [f"{t},abc123,48.0,{2.0 + 200 * t / 74_500:.6f},9000" for t in range(0, 1800, 10)]
    file = tmp_path / "reports.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def test_imported_reports_become_routes(reports, tmp_path, capsys):
    out = tmp_path / "routes.npz"
    assert main(["tracks", "import", str(reports), "--out", str(out)]) == 0
    assert "1 routes" in capsys.readouterr().out
    assert out.exists()


def test_import_that_finds_no_flight_names_the_option_of_the_unit(tmp_path, capsys):
    file = tmp_path / "one.csv"
    file.write_text("time,icao24,lat,lon,baroaltitude\n0,a,48,2,9000\n")
    assert main(["tracks", "import", str(file), "--out", str(tmp_path / "routes.npz")]) == 1
    assert "--altitude-unit" in capsys.readouterr().err


def test_import_of_a_missing_file_is_told(tmp_path, capsys):
    out = tmp_path / "routes.npz"
    assert main(["tracks", "import", str(tmp_path / "none.csv"), "--out", str(out)]) == 1
    assert "no such file" in capsys.readouterr().err


# -- package --------------------------------------------------------------------------------------


def test_import_enters_the_worlds_in_pettingzoos_registry():
    import pettingzoo

    assert pettingzoo.spec("parallel", "seer_env/aircraft_v0").namespace == "seer_env"


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = seer_env.nonsense


def test_every_public_name_is_listed():
    assert set(seer_env.__all__) <= set(dir(seer_env))
