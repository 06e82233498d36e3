"""An env as text and in a notebook's cell, at every stage of its life."""

from __future__ import annotations

import base64
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from worlds import Lamps, Ring

from seer_env import SingleAgentEnv, make_vec
from seer_env.env import make
from seer_env.html import table_html


class Cell(HTMLParser):
    """What a browser makes of the HTML: the table's rows, the caption and the pictures."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts, self.pictures, self.names = [], {"th": [], "td": [], "caption": []}, [], set()
        self.feed(html)
        self.close()
        assert self.open == []
        self.rows = dict(zip(self.texts["th"], self.texts["td"]))

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        if tag == "img":
            kind, data = dict(attributes)["src"].split(",")
            assert kind == "data:image/png;base64"
            self.pictures.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]].append(data)


def lamps(**options):
    return make(Lamps(life=2), scheduler="python", **options)


def test_before_an_episode_there_are_facts_and_no_picture():
    cell = Cell(lamps()._repr_html_())
    assert cell.texts["caption"] == ["lamps"]
    assert cell.rows["world"] == "Lamps"
    assert cell.rows["status"] == "new"
    assert cell.rows["agents"] == "0 live of 5"
    assert cell.rows["scheduler"] == "python"
    assert cell.rows["threads"] == "1"
    assert cell.rows["action space"] == "Discrete(5)"
    assert "last step" not in cell.rows
    assert cell.pictures == []


@pytest.mark.parametrize("mode", [None, "rgb_array", "human"])
def test_in_an_episode_the_cell_shows_step_clock_and_the_models_picture(mode):
    env = lamps(max_cycles=9, render_mode=mode)
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 4))
    cell = Cell(env._repr_html_())
    assert (cell.rows["status"], cell.rows["agents"]) == ("running", "5 live of 5")
    assert (cell.rows["step"], cell.rows["clock"]) == ("1 of 9", "0.5")
    assert cell.rows["last step"].startswith("10 events, ")  # an action and a glow per lamp
    (picture,) = cell.pictures
    assert (picture == env.model.render_frame(env.entities, 0.5)).all()


def test_an_ended_episode_is_still_shown():
    env = lamps()
    env.reset(seed=0)
    while env.agents:
        env.step(dict.fromkeys(env.agents, 1))
    cell = Cell(env._repr_html_())
    assert (cell.rows["status"], cell.rows["agents"]) == ("ended", "0 live of 5")
    assert len(cell.pictures) == 1


def test_a_closed_env_has_facts_and_no_picture():
    env = lamps()
    env.reset(seed=0)
    env.close()
    cell = Cell(env._repr_html_())
    assert cell.rows["status"] == "closed"
    assert cell.pictures == []


def test_a_world_without_pictures_has_none():
    env = make(Ring(), scheduler="python")
    env.reset(seed=0)
    assert Cell(env._repr_html_()).pictures == []


def test_names_are_escaped():
    env = lamps()
    env.model.name = '<script>alert("1")</script>'
    cell = Cell(env._repr_html_())
    assert cell.texts["caption"] == [env.model.name]
    assert "script" not in cell.names


def test_the_text_tells_the_stage():
    env = lamps()
    assert repr(env) == (
        "<SeerParallelEnv lamps: new, 0 of 5 agents live, step 0, clock 0, python on 1 thread>"
    )
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 1))
    assert "running, 5 of 5 agents live, step 1, clock 0.5" in repr(env)
    env.close()
    assert "closed, 0 of 5" in repr(env)


def test_statistics_show_facts_and_a_row_per_worker():
    env = lamps()
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 4))
    cell = Cell(env.last_step_stats._repr_html_())
    assert cell.texts["caption"] == ["last step"]
    assert cell.rows["events"] == "10"
    assert cell.rows["workers"] == "1, idle 0.0 % of the time"
    assert cell.texts["td"][-7:-5] == ["0", "10"]  # worker 0 has executed them all
    assert repr(env.last_step_stats).startswith("<EnvStepStats events: 10; rounds: 10, 0 of them shared; ")


# -- models and copies --------------------------------------------------------------------------------


def test_a_model_shows_what_it_declares_and_the_handler_of_each_kind():
    cell = Cell(Ring(n_agents=6, extra=2)._repr_html_())
    assert cell.texts["caption"] == ["ring"]
    assert (cell.rows["entities"], cell.rows["agents"], cell.rows["lookahead"]) == ("8", "6", "0.25")
    assert (cell.rows["params.gain"], cell.rows["tables.weight"]) == ("0.5", "float64[8]")
    for row in (["PUSH", "push"], ["PASS", "passed"], ["DRIFT", "drift"], ["x", "float64", "yes"]):
        assert "".join(f"<td>{text}</td>" for text in row) in Ring()._repr_html_()


def test_a_model_that_cannot_work_says_why():
    ring = Ring()
    ring.public = ("missing",)
    html = ring._repr_html_()
    assert "cannot work" in html
    assert "missing" in html


def test_names_of_a_models_tables_are_escaped():
    ring = Ring()
    ring.tables = {"<b>": np.zeros(2)}
    assert "<b>" not in ring._repr_html_()
    assert "&lt;b&gt;" in ring._repr_html_()


def test_copies_show_facts_and_a_row_each():
    copies = make(Lamps(life=2), copies=3, scheduler="python")
    copies.reset_arrays(seed=0)
    copies.step_arrays(np.zeros((3, 5)))
    cell = Cell(copies._repr_html_())
    assert cell.texts["caption"] == ["copies of lamps"]
    assert (cell.rows["copies"], cell.rows["entities"]) == ("3", "15")
    assert cell.texts["td"][-9:] == [text for copy in "012" for text in (copy, "1", "5 of 5")]


def test_closed_copies_say_so():
    copies = make(Lamps(), copies=2, scheduler="python")
    copies.close()
    assert "closed" in copies._repr_html_()


@pytest.mark.parametrize(("rows", "folded"), [(12, False), (13, True)])
def test_a_long_table_is_folded(rows, folded):
    html = table_html(("number",), [(str(number),) for number in range(rows)])
    assert ("details" in Cell(html).names) == folded
    assert Cell(html).texts["td"] == [str(number) for number in range(rows)]


# -- gymnasium's forms --------------------------------------------------------------------------------


def test_a_vector_env_shows_its_worlds():
    envs = make_vec(Lamps(), copies=3, scheduler="python")
    assert Cell(envs._repr_html_()).rows["copies"] == "3"


def test_a_single_agents_env_shows_whose_it_is_and_its_world():
    env = SingleAgentEnv(Lamps(), agent="lamp_2", scheduler="python")
    html = env._repr_html_()
    assert "lamp_2 of lamps, others by" in html
    assert Cell(html).texts["caption"] == ["lamps"]
