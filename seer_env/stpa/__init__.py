"""STPA: the thread count, chosen on reset.

`trace.record` runs some preflight steps and gives their trace, `predictor.predict` proposes a thread count
from it. Nothing here imports torch or xgboost; what trains and evaluates the predictor is in `training` and
`evaluation`, behind `seer-env stpa`.
"""
