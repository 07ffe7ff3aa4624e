"""The pipeline that ``fit`` makes, and what any detector says about rows.

Numbers are filled in, standardised and joined with the indicators of the categories,

    columns  ->  (numbers: impute, standardise | categories: one-hot)  ->  [unit norm]  ->  LpSVDD,

all inside the pipeline that is saved. Indicators stay 0 and 1: two rows of different categories are
then at squared distance 2, the mean squared distance in a standardised column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import Pipeline

    from lpsvdd.cli._rows import Roles, Rows

CATEGORIES = "categories"


def make_model(roles: Roles, detector: BaseEstimator, *, standardise: bool, unit_norm: bool):
    """An unfitted pipeline for the columns of these roles, with the detector at its end."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from lpsvdd.preprocessing import UnitNorm, preprocessor

    fills = roles.missing in ("mean", "median")
    impute = roles.missing if fills else None
    if not roles.categorical:
        steps = preprocessor(impute=impute, standardise=standardise, unit_norm=unit_norm)
        return make_pipeline(steps, detector)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if fills:  # an empty cell is a category of its own
        encoder = make_pipeline(
            SimpleImputer(missing_values=None, strategy="constant", fill_value=""), encoder
        )
    parts = [(CATEGORIES, encoder, list(roles.categorical))]
    if roles.numeric:
        numbers = preprocessor(impute=impute, standardise=standardise, unit_norm=False)
        parts.insert(0, ("numbers", numbers, list(roles.numeric)))
    columns = ColumnTransformer(parts, verbose_feature_names_out=False)
    return make_pipeline(columns, *([UnitNorm()] if unit_norm else []), detector)


def unseen_categories(model: Pipeline, rows: Rows, roles: Roles) -> dict[str, set[str]]:
    """Values of categorical columns that the fitted model has not met; their indicators are 0."""
    if not roles.categorical:
        return {}
    encoder = model[0].named_transformers_[CATEGORIES]
    encoder = encoder[-1] if hasattr(encoder, "steps") else encoder
    unseen = {}
    for name, known in zip(roles.categorical, encoder.categories_, strict=True):
        values = set(rows.frame[name].dropna()) - set(known)
        if values:
            unseen[name] = values
    return unseen


def check_detector(model: Any, name: str) -> None:
    """Raise ValueError unless the model gives scores and verdicts."""
    from sklearn.base import is_outlier_detector

    if not is_outlier_detector(model):
        raise ValueError(
            f"{name} holds a {type(model).__name__}; score needs a detector such as LpSVDD, or a "
            "pipeline that ends in one"
        )


def judge(model: Any, frame: pd.DataFrame, explain: int = 0) -> dict[str, np.ndarray]:
    """Score (high is normal), distance to the threshold, verdict; one value a row.

    With ``explain``, also the columns that take most from the score, as text.
    """
    data = frame if hasattr(model, "feature_names_in_") else frame.to_numpy()
    score = np.asarray(model.score_samples(data), dtype=float)
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "offset_"):  # the same as decision_function, without a second kernel matrix
        decision = score - last.offset_
        verdict = np.where(decision >= 0.0, 1, -1)
    else:
        decision = np.asarray(model.decision_function(data), dtype=float)
        verdict = np.asarray(model.predict(data))
    found = {"score": score, "decision": decision, "prediction": verdict}
    return found | ({"reasons": _reasons(model, frame, explain)} if explain else {})


def _reasons(model: Any, frame: pd.DataFrame, n: int) -> np.ndarray:
    from lpsvdd.explain import explain

    found = explain(model, frame)
    reasons = (found.reasons(row, n) for row in range(len(frame)))
    return np.array(
        ["; ".join(f"{name} {part:.3g}" for name, _, part in row) for row in reasons], dtype=object
    )


def judge_rows(
    model: Any, rows: Rows, *, skip_missing: bool, explain: int = 0
) -> dict[str, np.ndarray]:
    """As :func:`judge`, with row numbers; rows with a missing value may be left without a score."""
    holes = rows.missing if skip_missing else np.zeros(len(rows), dtype=bool)
    columns: dict[str, np.ndarray] = {"row": rows.numbers}
    if not holes.all():
        some = rows.take(~holes).frame if holes.any() else rows.frame
        found = judge(model, some, explain)
    else:
        more = ("reasons",) if explain else ()
        found = {name: np.empty(0) for name in ("score", "decision", "prediction", *more)}
    for name, values in found.items():
        if holes.any():
            spread = np.full(len(rows), None, dtype=object)
            spread[~holes] = values
            values = spread
        columns[name] = values
    return columns


def prepared(model: Any, frame: pd.DataFrame) -> np.ndarray:
    """The rows as the detector at the end of the pipeline sees them."""
    data = frame if hasattr(model, "feature_names_in_") else frame.to_numpy()
    return np.asarray(model[:-1].transform(data) if hasattr(model, "steps") else data, dtype=float)
