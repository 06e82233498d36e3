"""The predictor: what it proposes from a model in a folder, and what the shipped one is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from stpa_sweeps import made_up

from seer_env.stpa.predictor import MODELS, Prediction, Predictor, predict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of worlds whose best count is 1 where they are small and the CPUs where they are large."""
    for library in ("torch", "xgboost", "sklearn"):
        pytest.importorskip(library, reason="training needs the extra `stpa`")
    from seer_env.stpa.training.fit import Options
    from seer_env.stpa.training.ship import ship

    target = tmp_path_factory.mktemp("model")
    ship(sweeps(range(60)), target, options=Options(steps=3, batch=8))
    return target


def sweeps(indices):
    def one(i):
        entities = float(10.0 ** np.random.default_rng(i).uniform(1.0, 5.0))
        large = entities > 1000.0
        return made_up(i, 4, lambda k: abs(np.log2(k / (4 if large else 1))) + 1.0, entities=entities)

    return [one(i) for i in indices]


def test_a_trained_model_proposes_what_it_has_seen(folder):
    predictor = Predictor(folder)
    for sweep in sweeps(range(100, 120)):
        if not 500.0 < sweep.static.entities < 2000.0:
            prediction = predictor(sweep.trace, sweep.static)
            assert prediction.threads == pytest.approx(4 if sweep.static.entities > 1000.0 else 1, rel=0.25)


def test_the_ensemble_spans_its_mean(folder):
    sweep = made_up(5)
    prediction = Predictor(folder)(sweep.trace, sweep.static)
    assert 1.0 <= prediction.low <= prediction.threads <= prediction.high


def test_a_prediction_is_the_geometric_mean_of_the_members(folder):
    predictor, sweep = Predictor(folder), made_up(5, cpus=4)
    predictor.members = [lambda features: -1.0, lambda features: 2.0]  # log2 of threads per CPU: 2 and 16
    prediction = predictor(sweep.trace, sweep.static)
    assert (prediction.low, prediction.high) == (2.0, 16.0)
    assert prediction.threads == pytest.approx((2.0 * 16.0) ** 0.5)


def test_far_from_the_training_data_nothing_is_trusted(folder):
    predictor = Predictor(folder)
    near = sweeps([200])[0]
    assert predictor(near.trace, near.static).trusted
    far = type(near.static)(**{**vars(near.static), "entities": 1e12, "cpus": 4000.0, "queued": 1e9})
    assert not predictor(near.trace, far).trusted


def test_training_writes_the_same_model_again(folder, tmp_path):
    from seer_env.stpa.training.fit import Options
    from seer_env.stpa.training.ship import ship

    ship(sweeps(range(60)), tmp_path, options=Options(steps=3, batch=8))
    names = {path.name for path in folder.iterdir()}
    assert names == {path.name for path in tmp_path.iterdir()}
    assert all((folder / name).read_bytes() == (tmp_path / name).read_bytes() for name in names)


# -- the shipped model -------------------------------------------------------------------------------


def test_the_shipped_model_predicts_without_torch_or_xgboost():
    code = (
        "import sys\n"
        "from stpa_sweeps import made_up\n"
        "from seer_env.stpa.predictor import predict\n"
        "print(predict(made_up().trace, made_up().static).threads)\n"
        "assert not {'torch', 'xgboost', 'sklearn'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="tests", check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) >= 1.0


def test_the_shipped_model_takes_a_trace_of_any_length_and_any_mask():
    sweep = made_up()
    for trace in (sweep.trace[:, :1], np.full_like(sweep.trace, np.nan), sweep.trace):
        prediction = predict(trace, sweep.static)
        assert isinstance(prediction, Prediction)
        assert np.isfinite(prediction[:3]).all()


def test_the_shipped_model_is_small_and_described():
    files = list(MODELS.iterdir())
    assert sum(path.stat().st_size for path in files) < 3_000_000
    assert (MODELS / "README.md").exists()


def test_the_shipped_trees_predict_what_xgboost_predicts():
    xgboost = pytest.importorskip("xgboost", reason="xgboost trains the trees")
    predictor = Predictor()
    rows = np.stack([predictor.features(made_up(i).trace, made_up(i, cpus=2**i).static) for i in range(1, 5)])
    for path, member in zip(sorted(MODELS.glob("trees_*.json")), predictor.members):
        model = xgboost.XGBRegressor()
        model.load_model(path)
        np.testing.assert_allclose([member(row) for row in rows], model.predict(rows), atol=1e-5)


def test_the_shipped_encoder_computes_what_torch_computes():
    torch = pytest.importorskip("torch", reason="the encoder is trained with torch")
    from seer_env.stpa.training.network import Network

    encoder = Predictor().encoder
    weights = {name: torch.tensor(w) for name, w in encoder.weights.items() if name not in ("mean", "scale")}
    network = Network(len(encoder.weights["mean"])).eval()
    missing, unexpected = network.load_state_dict(weights, strict=False)
    assert not unexpected
    assert all(name.startswith("head.") for name in missing), "the head is not shipped"
    x = encoder.prepared(made_up().trace)
    with torch.no_grad():
        np.testing.assert_allclose(encoder.per_step(x), network(torch.tensor(x)[None])[0], atol=1e-5)
