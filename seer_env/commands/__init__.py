"""The subcommands of `seer-env`: one module each, heavy imports inside the functions."""
