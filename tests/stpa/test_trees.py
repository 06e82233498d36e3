"""Our reader of XGBoost's JSON against XGBoost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seer_env.stpa.trees import Trees


def stump(objective="reg:squarederror", base="[1E0]"):
    """One split, x[1] < 0.5: 10 or, missing values too, 20."""
    tree = {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [1, 0, 0],
        "split_conditions": [0.5, 10.0, 20.0],
        "default_left": [0, 0, 0],
    }
    return {
        "learner": {
            "objective": {"name": objective},
            "learner_model_param": {"base_score": base},
            "gradient_booster": {"model": {"trees": [tree]}},
        }
    }


@pytest.mark.parametrize("base", ["[1E0]", "1E0"])
def test_a_stump(tmp_path, base):
    file = tmp_path / "trees.json"
    file.write_text(json.dumps(stump(base=base)))
    trees = Trees(file)
    values = [trees(np.array([9.0, x], np.float32)) for x in (0.4, 0.5, np.nan)]
    assert values == [11.0, 21.0, 21.0]


def test_another_objective_is_refused(tmp_path):
    file = tmp_path / "trees.json"
    file.write_text(json.dumps(stump(objective="binary:logistic")))
    with pytest.raises(ValueError, match="binary:logistic"):
        Trees(file)


def test_predictions_are_xgboosts(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="xgboost trains the trees")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    y = np.nan_to_num(x[:, 0]) * np.nan_to_num(x[:, 3]) + np.nan_to_num(x[:, 5])
    model = xgboost.XGBRegressor(n_estimators=40, max_depth=4, n_jobs=1).fit(x, y)
    model.save_model(tmp_path / "trees.json")
    trees = Trees(tmp_path / "trees.json")
    np.testing.assert_allclose([trees(row) for row in x], model.predict(x), atol=1e-5)
