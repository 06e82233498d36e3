"""Benchmarks: each compares an engine with a yardstick measured beside it, in the same run."""
