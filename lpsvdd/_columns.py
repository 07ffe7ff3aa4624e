"""Inside a model: the detector at its end, and the input column that each feature stems from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder


def detector_inside(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline, in order, and the detector at its end."""
    steps: list[Any] = []
    holders = ("best_estimator_", "estimator_", "estimators_")  # of another model, fitted
    while True:
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
            continue
        held = next((getattr(model, name) for name in holders if hasattr(model, name)), None)
        if held is None:
            break
        if isinstance(held, list):
            if len(held) != 1:
                what = f"{type(model).__name__} holds {len(held)} detectors"
                raise ValueError(f"{what}; take one of them, such as .estimators_[0]")
            held = held[0]
        model = held
    if not hasattr(model, "centre_coef_"):
        what = type(model).__name__
        raise ValueError(
            f"a fitted LpSVDD is needed, alone or at the end of a pipeline; got {what}"
        )
    return steps, model


def transformed(steps: list[Any], X: Any) -> Any:
    """The rows as the detector sees them."""
    for step in steps:
        X = step.transform(X)
    if not hasattr(X, "ndim"):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {X.shape}")
    return X


def column_sources(steps: list[Any], X: Any, n_features: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the columns to explain by, and for each feature the position of its column.

    Columns are those of X as long as every step keeps track of them (scaling, imputing, one-hot);
    after a step that mixes columns they are the ones that come out of it.
    """
    columns = getattr(X, "columns", None)
    if columns is not None and steps and hasattr(steps[0], "feature_names_in_"):
        columns = steps[0].feature_names_in_  # a ColumnTransformer finds its columns by name
    width = len(columns) if columns is not None else np.asarray(X).shape[-1]
    names = [str(name) for name in columns] if columns is not None else None
    origin = np.arange(width)
    for step in steps:
        step_origin = _origin(step, len(origin))
        if step_origin is None:
            names = [str(name) for name in step.get_feature_names_out()]
            origin = np.arange(len(names))
        else:
            origin = origin[step_origin]
    if len(origin) != n_features:
        raise ValueError(
            f"X gives {len(origin)} features, but the model was fitted to {n_features}"
        )
    if names is None:
        names = [f"x{j}" for j in range(width)]
    used = np.unique(origin)  # columns that the model leaves out have nothing to explain
    position = {column: place for place, column in enumerate(used.tolist())}
    return tuple(names[j] for j in used), np.array([position[j] for j in origin.tolist()])


def _origin(step: Any, width: int) -> np.ndarray | None:
    """For each output of a transformer the input it stems from; None where they are mixed."""
    if isinstance(step, Pipeline):
        origin = np.arange(width)
        for _, inner in step.steps:
            found = _origin(inner, len(origin))
            if found is None:
                return None
            origin = origin[found]
        return origin
    if isinstance(step, OneHotEncoder):
        return np.repeat(np.arange(width), step._n_features_outs)
    if isinstance(step, ColumnTransformer):
        return _origin_of_parts(step)
    if step in (None, "passthrough") or isinstance(step, OneToOneFeatureMixin):
        return np.arange(width)
    if hasattr(step, "n_features_in_") and _keeps_names(step):
        return np.arange(width)
    return None


def _keeps_names(step: Any) -> bool:
    """Transformers such as SimpleImputer are one-to-one unless they add or drop columns."""
    try:
        out = [str(name) for name in step.get_feature_names_out()]
        given = [f"x{j}" for j in range(step.n_features_in_)]
        return out == [str(name) for name in getattr(step, "feature_names_in_", given)]
    except (AttributeError, ValueError, TypeError):
        return False


def _origin_of_parts(step: ColumnTransformer) -> np.ndarray | None:
    origin = np.full(max((part.stop for part in step.output_indices_.values()), default=0), -1)
    for label, part, _ in step.transformers_:
        place = step.output_indices_[label]
        if place.stop == place.start:
            continue
        inputs = np.array(step._transformer_to_input_indices[label])
        found = _origin(part, len(inputs))
        if found is None:
            return None
        origin[place] = inputs[found]
    return origin


def named_values(X: Any, columns: tuple[str, ...], Z: np.ndarray) -> np.ndarray:
    """Values to show beside the columns: those of X where it has them, else of the features."""
    values = np.asarray(X, dtype=object)  # of pandas, of polars, of an array
    labels = [f"x{j}" for j in range(values.shape[1])]
    if hasattr(X, "columns"):
        labels = [str(name) for name in X.columns]
    if set(columns) <= set(labels):
        return values[:, [labels.index(name) for name in columns]]
    return np.asarray(Z, dtype=object)
