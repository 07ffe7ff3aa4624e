"""ONNX graphs, run by onnxruntime, give the estimator's scores, thresholds and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline as piped
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lpsvdd import LpSVDD, LpSVDDCV, WeightedLpSVDD
from lpsvdd.conformal import ConformalDetector
from lpsvdd.preprocessing import Indicators, UnitNorm, preprocessor

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

from lpsvdd.onnx_export import OUTPUTS, to_onnx  # noqa: E402

RNG = np.random.default_rng(6)
SCALE, SHIFT = np.array([1.0, 5.0, 0.1, 2.0]), np.array([0.0, 100.0, 0.0, 3.0])
X = RNG.normal(size=(60, 4)) * SCALE + SHIFT
NEW = RNG.normal(scale=2.0, size=(40, 4)) * SCALE + SHIFT
LABELS = np.where(X[:, 0] > 1.0, -1, 1)
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-11}  # the latter for rows far away: kernels.TAIL


def run(graph, feed) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert tuple(output.name for output in session.get_outputs()) == OUTPUTS
    found = dict(zip(OUTPUTS, session.run(None, feed), strict=True))
    assert all(values.shape[1] == 1 for values in found.values())
    return {name: values[:, 0] for name, values in found.items()}


def check(model, rows, feed, dtype, graph):
    found = run(graph, feed)
    scores, decisions = model.score_samples(rows), model.decision_function(rows)
    assert found["score"].dtype == dtype and found["label"].dtype == np.int64
    allowed = TOLERANCE[dtype] * max(1.0, np.abs(scores).max())
    np.testing.assert_allclose(found["score"], scores, rtol=0.0, atol=allowed)
    np.testing.assert_allclose(found["decision"], decisions, rtol=0.0, atol=allowed)
    clear = np.abs(decisions) > allowed  # on the threshold itself rounding decides
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found["label"][clear], model.predict(rows)[clear])
    assert 0 < np.sum(found["label"] == 1) < len(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (LpSVDD(gamma=0.02, contamination=0.2), None),
        (LpSVDD(p=1.3, gamma=0.02, contamination=0.2), LABELS),
        (LpSVDD(kernel="linear"), None),
        (LpSVDD(kernel="poly", gamma=0.01, degree=2), None),
        (piped(preprocessor(unit_norm=False), LpSVDD(kernel="poly", contamination=0.2)), LABELS),
        (piped(preprocessor(), LpSVDD(C=0.2, contamination=0.1)), None),
        (piped(StandardScaler(), PCA(2), WeightedLpSVDD(contamination=0.1)), None),
        (piped(StandardScaler(), LpSVDDCV(gammas=[0.1, 0.3], random_state=0)), None),
        (ConformalDetector(piped(StandardScaler(), LpSVDD()), random_state=0), None),
        (
            ConformalDetector(
                piped(preprocessor(unit_norm=False), LpSVDD()), "cross", n_folds=3, random_state=0
            ),
            None,
        ),
    ],
)
def test_scores_agree(model, labels, dtype):
    model.fit(X, labels)
    rows = NEW.astype(dtype)
    check(model, rows.astype(float), {"X": rows}, dtype, to_onnx(model, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_and_rows_of_zeros(dtype):
    holes = X.copy()
    holes[3, 1] = np.nan
    model = piped(preprocessor(), LpSVDD(C=0.2, contamination=0.2)).fit(holes)
    rows = NEW.astype(dtype)
    rows[0, 0] = np.nan
    check(model, rows.astype(float), {"X": rows}, dtype, to_onnx(model, dtype=dtype))
    bare = piped(UnitNorm(), LpSVDD(contamination=0.2)).fit(X)
    rows = np.vstack([np.zeros(4), rows[1:]]).astype(dtype)
    check(bare, rows.astype(float), {"X": rows}, dtype, to_onnx(bare, dtype=dtype))


ONE_HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("categories", [ONE_HOT, Indicators()], ids=str)
def test_columns_of_text_are_inputs_of_their_own(categories, dtype):
    frame = pd.DataFrame(X.astype(np.float32).astype(float), columns=list("abcd"))
    frame["kind"] = RNG.choice(["x", "y", "z"], 60)
    parts = [
        ("numbers", preprocessor(unit_norm=False), list("abcd")),
        ("kind", categories, ["kind"]),
    ]
    model = piped(ColumnTransformer(parts), LpSVDD(gamma=0.1, contamination=0.1)).fit(frame)
    new = frame.assign(kind=np.where(np.arange(60) < 3, "unseen", frame["kind"]))
    feed = {name: new[[name]].to_numpy().astype(dtype) for name in "abcd"}
    feed["kind"] = new[["kind"]].to_numpy().astype(object)
    check(model, new, feed, dtype, to_onnx(model, new, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_row_with_a_missing_value_is_not_accepted(kernel, dtype):
    model = LpSVDD(kernel=kernel, gamma=0.02, contamination=0.5).fit(X)
    rows = NEW.astype(dtype)
    rows[::2, 1] = np.nan
    found = run(to_onnx(model, dtype=dtype), {"X": rows})
    assert np.isnan(found["score"][::2]).all() and (found["label"][::2] == -1).all()


def test_distances_do_not_cancel_in_float32():
    """Rows near one another, far from the origin: an expanded square would lose all digits."""
    far = RNG.normal(size=(40, 3)).astype(np.float32) * 0.5 + 1024.0
    model = LpSVDD(gamma=1.0, contamination=0.2).fit(far)
    check(model, far.astype(float), {"X": far}, np.float32, to_onnx(model))
