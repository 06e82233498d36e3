"""Training and evaluation of the predictor. In `seer_env.stpa` its modules alone import torch or xgboost."""
