"""Fitted models as files that hold numbers and names, never code.

A model file is an archive of skops (attributes as JSON, arrays in NumPy's format) with one more
member, ``lpsvdd.json``: the version that wrote it, and notes. Loading builds an object only if each
type named in the file is trusted: those of skops (scikit-learn, NumPy, SciPy, Python's containers)
and the estimators of this package. A pickle, in contrast, is a program that loading runs.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lpsvdd import __version__
from lpsvdd._atomic import whole_file
from lpsvdd.conformal import ConformalDetector
from lpsvdd.estimators import LpSVDD
from lpsvdd.selection import LpSVDDCV

TRUSTED_TYPES = [
    *(f"{one.__module__}.{one.__name__}" for one in (ConformalDetector, LpSVDD, LpSVDDCV)),
    "numpy.dtype",  # inside a SimpleImputer and an OrdinalEncoder
    "sklearn.compose._column_transformer._RemainderColsList",  # a list of names, up to 1.6
]
ABOUT = "lpsvdd.json"


def save(model: BaseEstimator, path: str | Path, *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted model, alone or as a pipeline with its scaling, to a file without code.

    Parameters
    ----------
    model : fitted estimator
        An estimator of this package, of scikit-learn, or a pipeline of them.
    path : path
        A file that exists is replaced, as a whole or not at all.
    notes : dict, optional
        Anything that JSON can express, for :func:`read_notes`. The command line keeps the meaning
        of the columns there.

    Raises
    ------
    ValueError
        When the model is not fitted, or holds something that would need code, such as a kernel
        given as a Python function.

    See Also
    --------
    load_model

    Examples
    --------
    >>> import numpy as np
    >>> import lpsvdd
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = lpsvdd.LpSVDD().fit(X)
    >>> lpsvdd.save(model, "model.lpsvdd")
    >>> again = lpsvdd.load_model("model.lpsvdd")
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    from skops.io import dumps, get_untrusted_types

    if not isinstance(model, BaseEstimator):
        raise ValueError(f"save takes a fitted estimator or pipeline, got {type(model).__name__}")
    check_is_fitted(model)  # a NotFittedError is a ValueError that says what to do
    try:
        data = dumps(model, compression=zipfile.ZIP_DEFLATED)
        foreign = sorted({*get_untrusted_types(data=data)} - {*TRUSTED_TYPES})
    except Exception as error:  # skops has its own for each kind of object
        raise ValueError(f"the model cannot be saved without code: {error}") from error
    if foreign:
        raise ValueError(
            f"the model holds {', '.join(foreign)}, which a file without code cannot hold; use a "
            "named or a precomputed kernel, and transformers of scikit-learn"
        )
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(ABOUT, json.dumps({"version": __version__, "notes": notes or {}}))
    with whole_file(path) as handle:
        handle.write(buffer.getbuffer())


def load_model(path: str | Path) -> Any:
    """Return the fitted model that :func:`save` wrote; its scores are the same to the last bit.

    Nothing in the file is executed, and no type outside a fixed list is built.

    Raises
    ------
    ValueError
        When the file is no model file, is damaged, or holds types that are not trusted.

    Warns
    -----
    UserWarning
        When another version of this package wrote it; scikit-learn warns of its own versions.
    """
    from skops.io import get_untrusted_types, loads

    name, version = Path(path).name, _about(path)["version"]
    data = Path(path).read_bytes()
    try:
        foreign = sorted({*get_untrusted_types(data=data)} - {*TRUSTED_TYPES})
    except Exception as error:
        raise _damaged(name, error) from error
    if foreign:
        raise ValueError(
            f"{name} asks for {', '.join(foreign[:3])}, which no model of lpsvdd needs: it was "
            "not loaded"
        )
    try:
        model = loads(data, trusted=TRUSTED_TYPES)
        check_is_fitted(model)
        for part in _parts(model):
            fitted = isinstance(part, LpSVDD) and hasattr(part, "n_features_in_")
            if fitted and part.kernel != "precomputed":
                part._score_points(np.zeros((1, part.n_features_in_)))  # do the shapes agree?
    except Exception as error:
        raise _damaged(name, error) from error
    if version != __version__:
        warnings.warn(
            f"{name} was written by lpsvdd {version}, and this is {__version__}: compare some "
            "scores with stored ones before relying on it, or fit the model again",
            stacklevel=2,
        )
    return model


def read_notes(path: str | Path) -> dict[str, Any]:
    """Return the notes that were given to :func:`save`."""
    return _about(path)["notes"]


def _about(path: str | Path) -> dict[str, Any]:
    """Return version and notes of a model file; raise ValueError for any other file."""
    name = Path(path).name
    if not zipfile.is_zipfile(path):
        Path(path).open("rb").close()  # OSError where there is no file
        raise ValueError(f"{name} is not a model file; lpsvdd.save and lpsvdd fit write them")
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read(ABOUT) if ABOUT in archive.namelist() else None
        about = json.loads(text or "{}")
        about = {"version": str(about["version"]), "notes": dict(about["notes"])} if text else about
    except Exception as error:
        raise _damaged(name, error) from error
    if text is None:
        raise ValueError(f"{name} is an archive, but not a model file of lpsvdd")
    return about


def _damaged(name: str, error: Exception) -> ValueError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ValueError(f"{name} is a damaged model file ({reason}): save the model again")


def _parts(model: Any) -> list[Any]:
    """Return a model and all estimators inside it."""
    if isinstance(model, BaseEstimator):
        return [model, *(part for held in vars(model).values() for part in _parts(held))]
    if isinstance(model, list | tuple):
        return [part for held in model for part in _parts(held)]
    return []
