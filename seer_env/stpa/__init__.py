"""STPA: the thread count, chosen on reset.

`tuner.ThreadTuner` is what an env asks: it looks at the machine (`machine`), rehearses steps that leave no
trace (`rehearsal`), searches among thread counts (`search`), remembers what it found (`choices`), and watches
the steps that follow (`watch`). `report` shows what was decided and why.

`trace.record` gives a trace of rehearsed steps, and `predictor.predict` proposes a thread count from it. What
trains and evaluates the predictor is in `training` and `evaluation`, behind `seer-env stpa`.

Choosing imports neither torch nor, where nothing is predicted, xgboost.
"""
