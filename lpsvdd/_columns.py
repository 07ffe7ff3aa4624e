"""Inside a model: the detector at its end, and the input column that each feature stems from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

HOLDERS = ("best_estimator_", "estimator_", "estimators_")  # of a fitted model in another one


def detector_inside(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline, in order, and the detector at its end."""
    steps: list[Any] = []
    while not hasattr(model, "centre_coef_"):
        kind = type(model).__name__
        held: Any = next((getattr(model, name) for name in HOLDERS if hasattr(model, name)), None)
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            held = model.steps[-1][1]
        elif held is None:
            raise ValueError(
                f"a fitted LpSVDD is needed, alone or at the end of a pipeline; got {kind}"
            )
        elif isinstance(held, list):
            if len(held) != 1:
                what = f"{kind} holds {len(held)} detectors"
                raise ValueError(f"{what}; take one of them, such as .estimators_[0]")
            held = held[0]
        model = held
    return steps, model


def transformed(steps: list[Any], X: Any) -> Any:
    """Return the rows as the detector sees them."""
    for step in steps:
        X = step.transform(X)
    return X


def column_sources(steps: list[Any], X: Any, n_features: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Return names of the columns to explain by, and for each feature the position of its column.

    Columns are those of X as long as every step keeps track of them (scaling, imputing, one-hot);
    after a step that mixes columns they are the ones that come out of it.
    """
    columns = getattr(X, "columns", None)
    if columns is not None and steps:  # a ColumnTransformer finds its columns by name
        columns = getattr(steps[0], "feature_names_in_", columns)
    names = _numbered(np.shape(X)[-1]) if columns is None else [*map(str, columns)]
    origin = np.arange(len(names))
    for step in steps:
        inputs = _inputs(step, len(origin))
        if inputs is None:
            names = [*map(str, step.get_feature_names_out())]
            origin = np.arange(len(names))
        else:
            origin = origin[inputs]
    if len(origin) != n_features:
        raise ValueError(f"X has {len(origin)} features, but the model was fitted to {n_features}")
    used, position = np.unique(origin, return_inverse=True)  # a column left out explains nothing
    return tuple(names[j] for j in used), position


def _numbered(width: int) -> list[str]:
    return [f"x{j}" for j in range(width)]


def _inputs(step: Any, width: int) -> np.ndarray | None:
    """Return the input that each output of a transformer stems from; None where it mixes them."""
    every = np.arange(width)
    if step in (None, "passthrough"):
        return every
    if isinstance(step, Pipeline):
        origin: np.ndarray | None = every
        for _, inner in step.steps:
            found = None if origin is None else _inputs(inner, len(origin))
            origin = None if origin is None or found is None else origin[found]
        return origin
    if isinstance(step, OneHotEncoder):
        return np.repeat(every, step._n_features_outs)
    if isinstance(step, ColumnTransformer):
        places = step.output_indices_
        origin = np.zeros(max((place.stop for place in places.values()), default=0), dtype=int)
        for name, part, _ in step.transformers_:
            if places[name].start < places[name].stop:
                inputs = np.array(step._transformer_to_input_indices[name])
                if (found := _inputs(part, len(inputs))) is None:
                    return None
                origin[places[name]] = inputs[found]
        return origin
    try:  # scaling and imputing keep the names of their columns
        given = getattr(step, "feature_names_in_", _numbered(width))
        return every if [*step.get_feature_names_out()] == [*given] else None
    except (AttributeError, ValueError, TypeError):
        return None


def named_values(X: Any, columns: tuple[str, ...], Z: np.ndarray) -> np.ndarray:
    """Return values to show beside the columns: those of X where it has them, else of Z."""
    values = np.asarray(X, dtype=object)  # of pandas, of polars, of an array
    labels = [*map(str, getattr(X, "columns", _numbered(values.shape[1])))]
    known = set(columns) <= set(labels)
    return values[:, [*map(labels.index, columns)]] if known else np.asarray(Z, dtype=object)
