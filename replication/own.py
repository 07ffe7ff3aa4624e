"""What a user brings to the comparison: a data set in a CSV file, a detector of their own.

A detector is a class in the manner of scikit-learn: ``fit(X)``, then ``score_samples(X)`` or
``decision_function(X)``, higher for more normal rows. It sees the rows of the protocol
(standardised, of unit norm) of the same splits as the paper's methods, and the same referee chooses
among its cells. Its grid is the class attribute ``grid``, a YAML or JSON file, or its defaults.

With labelled outliers a class with the attribute ``uses_labels = True``, or a classifier of
scikit-learn, gets ``fit(X, y)`` with y = +1 for targets; others are trained on the targets alone.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.base import ClassifierMixin

from replication import datasets
from replication.methods import METHODS, Grid, Method, ScoredCell, SplitKernels, grid
from replication.paper import METHOD_NAMES, SETTINGS


@dataclass(frozen=True)
class OwnSet:
    """A data set from a user's file: rows, labels +1 (target) and -1, and the file's checksum."""

    name: str
    sha256: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)


def read_set(path: Path, label: str | None = None, target: str | None = None) -> OwnSet:
    """A CSV file with a header; its class is in the column ``label``, by default the last one.

    Raises
    ------
    ValueError
        When the target class is not clear, a feature is not a number, or the name is taken.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stem in [record.id for record in datasets.RECORDS]:
        raise ValueError(f"{path.name}: {path.stem} is a data set of the paper; rename the file")
    table = pd.read_csv(path)
    column = table.columns[-1] if label is None else label
    if column not in table:
        raise ValueError(f"{path.name} has no column {column!r}; its columns: {_list(table)}")
    classes = table.pop(column)
    if classes.isna().any():
        raise ValueError(f"{path.name}: rows without a class in the column {column!r}")
    numeric = pd.api.types.is_float_dtype(classes)  # 1 and 1.0 are one class
    classes = classes.map("{:g}".format) if numeric else classes.astype(str)
    counts = classes.value_counts()
    if target is None and set(counts.index) == {"1", "-1"}:
        target = "1"
    if target not in counts.index or len(counts) < 2:
        ask = "name the class to describe with --target"
        if target is not None:
            ask = f"--target {target} is not one of two classes or more"
        sizes = _list(f"{name} ({count} rows)" for name, count in counts.items())
        raise ValueError(
            f"{path.name}: {ask} (column {column!r} has the classes {sizes}); --label names "
            "another column"
        )
    texts = table.columns[~table.dtypes.map(pd.api.types.is_numeric_dtype)]
    if len(texts):
        raise ValueError(f"{path.name}: not numbers, encode or drop them: {_list(texts)}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return OwnSet(path.stem, digest, table.to_numpy(float), np.where(classes == target, 1, -1))


def _list(names: Any, most: int = 10) -> str:
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def read_grid(path: Path) -> Grid:
    """The cells in a YAML or JSON file."""
    try:
        return grid_of(yaml.safe_load(path.read_text(encoding="utf-8")))  # JSON is YAML
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def grid_of(values: Any) -> Grid:
    """A list of cells as it is; a dictionary of lists in all combinations."""
    if isinstance(values, dict) and all(isinstance(v, Sequence) for v in values.values()):
        return grid(**values)
    if isinstance(values, list) and values and all(isinstance(cell, dict) for cell in values):
        return values
    raise ValueError("a grid is {parameter: [values]} or [{parameter: value}, ...]")


def find_methods(
    texts: Sequence[str], settings: Sequence[str], own_grid: Grid | None = None
) -> dict[str, list[Method]]:
    """The methods that a user names, by setting: ``package.module:Class``, or of the registry.

    Methods of the paper are run anyway and left out here. A classifier takes part in the setting
    with labelled outliers only.
    """
    found: dict[str, list[Method]] = {setting: [] for setting in settings}
    for text in dict.fromkeys(texts):
        made = {where: METHODS[where, name] for where, name in METHODS if name == text}
        if ":" in text:
            made = _own_methods(text, own_grid)
        elif not made:
            raise ValueError(
                f"unknown method {text!r}: expected package.module:Class or one of "
                + ", ".join(dict.fromkeys(name for _, name in METHODS))
            )
        if not set(made) & set(settings):
            raise ValueError(f"--method {text} takes part in the setting {', '.join(made)} only")
        for setting in set(made) & set(settings):
            if text in METHOD_NAMES[setting]:
                continue
            names = [*METHOD_NAMES[setting], *(method.name for method in found[setting])]
            if made[setting].name in names:
                raise ValueError(f"--method {text}: two methods have one name; rename the class")
            found[setting].append(made[setting])
    return found


def _own_methods(text: str, own_grid: Grid | None) -> dict[str, Method]:
    """A user's class as a method of each setting in which it takes part."""
    module, _, name = text.partition(":")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"--method {text}: {error}. The module is looked for in this folder and among the "
            "installed packages"
        ) from error
    scores = any(hasattr(kind, name) for name in ("score_samples", "decision_function"))
    if not (inspect.isclass(kind) and hasattr(kind, "fit") and scores):
        raise ValueError(
            f"--method {text}: a detector is a class with fit and score_samples or "
            "decision_function, higher for more normal rows"
        )
    if own_grid is None:
        own_grid = grid_of(kind.grid) if hasattr(kind, "grid") else [{}]
    for params in own_grid:
        _make(kind, params)  # a wrong parameter shows before anything is computed
    is_classifier = issubclass(kind, ClassifierMixin)
    labels = bool(getattr(kind, "uses_labels", is_classifier))
    return {
        setting: Method(
            name=kind.__name__,
            setting=setting,
            grid=own_grid,
            path=partial(own_path, kind, labels and setting == "negatives"),
            origin=text,
        )
        for setting in (("negatives",) if is_classifier else SETTINGS)
    }


def _make(kind: type, params: dict[str, Any], seed: int = 0) -> Any:
    """A detector of a cell; its ``random_state``, if it has one, is the seed of the trial."""
    chance = {"random_state": seed} if "random_state" in inspect.signature(kind).parameters else {}
    try:
        return kind(**(chance | params))
    except TypeError as error:
        raise ValueError(f"{kind.__name__} does not take {params}: {error}") from error


def own_path(
    kind: type, labelled: bool, kernels: SplitKernels, own_grid: Sequence[dict[str, Any]]
) -> list[ScoredCell]:
    """Every cell fitted on the training rows and asked for the scores of the others."""
    X, positive = kernels.X, kernels.y > 0
    found = []
    for params in own_grid:
        detector = _make(kind, params, kernels.seed)
        detector.fit(*((X, kernels.y) if labelled else (X[positive],)))
        score = getattr(detector, "score_samples", None) or detector.decision_function
        scores = np.asarray(score(kernels.X_eval), dtype=float)
        if scores.shape != (len(kernels.diag_eval),):
            raise ValueError(
                f"{kind.__name__} gives scores of the shape {scores.shape}, not one a row"
            )
        found.append(ScoredCell(params, scores, status="as fitted"))
    return found
