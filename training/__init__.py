"""Training on seer_env's worlds; installed as `seer_env.training`."""
