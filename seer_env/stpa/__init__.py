"""STPA: the thread count, chosen on reset.

`choosing` is the part of envs and copies that asks, `tuner.ThreadTuner` decides: it looks at the machine
(`machine`), rehearses steps that leave no trace (`rehearsal`), searches among thread counts (`search`) from
where the predictor says (`proposing`), remembers what it found (`choices`), and watches the steps that follow
(`watch`). `report` shows what was decided and why.

`trace.record` gives a trace of rehearsed steps, and `predictor.predict` proposes a thread count from it. Both
run in NumPy: choosing imports neither torch nor xgboost.

Behind `seer-env stpa`: `plan` and `collect` measure sweeps, which `dataset` keeps; `calibrate` measures the
machine for the `scheduler_model` that `simulate`s larger ones; `labels` says what is right; `training` holds
what trains and evaluates.
"""
