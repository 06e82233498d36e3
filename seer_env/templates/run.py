"""One episode of the world that config.json describes: `python run.py`."""

import json
from pathlib import Path

import template_world  # noqa: F401 - registers the world

import seer_env

config = json.loads(Path(__file__).with_name("config.json").read_text(encoding="utf-8"))
env = seer_env.make("template_world_v0", **config)
env.reset_arrays(seed=0)
total = 0.0
while env.agents:
    actions = env.policies["random"](env)  # numbers [agents, action size]: your policy's
    observations, rewards, terminated, truncated, live = env.step_arrays(actions)
    total += rewards.sum()
print(f"{env!r}\nmean reward of a step: {total / env.steps / len(env.possible_agents):.3f}")
