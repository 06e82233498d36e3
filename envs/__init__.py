"""The reference worlds; installed as `seer_env.envs`."""
