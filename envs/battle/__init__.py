"""The Battle world: two armies on a grid; see `README.md`."""
