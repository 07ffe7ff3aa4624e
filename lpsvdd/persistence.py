r"""Fitted models as files that hold numbers and names, never code.

A model file is a zip archive in the format of skops: the tree of the estimator's attributes as
JSON, its arrays in NumPy's own format, and ``lpsvdd.json`` with the number of our format and the
versions of the packages that wrote it. A pickle, in contrast, is a program: whoever loads one runs
what its author wrote.

Loading builds an object only if each type named in the file is on a list: those that skops trusts
(scikit-learn's estimators, NumPy's and Python's own containers) and the estimators of this package.
The list is checked before anything is built or imported. What can not be written that way, such as
a kernel given as a Python function, is refused when saving.
"""

from __future__ import annotations

import io
import json
import math
import platform
import warnings
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from lpsvdd import __version__
from lpsvdd._atomic import whole_file

OUR_TYPES = (
    "lpsvdd.conformal.ConformalDetector",
    "lpsvdd.estimators.LpSVDD",
    "lpsvdd.preprocessing.Indicators",
    "lpsvdd.preprocessing.PositiveImputer",
    "lpsvdd.preprocessing.PositiveScaler",
    "lpsvdd.preprocessing.UnitNorm",
    "lpsvdd.selection._search.LpSVDDCV",
)

MEMBER = "lpsvdd.json"


class ModelFileError(ValueError):
    """A file that holds no model of ours, or a damaged one; the message is one sentence."""


class ModelVersionWarning(UserWarning):
    """A model file was written by another version of a package that it depends on."""


def save(
    model: BaseEstimator,
    path: str | Path,
    *,
    notes: dict[str, Any] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a fitted model, alone or as a pipeline with its scaling, to a file without code.

    Parameters
    ----------
    model : fitted estimator
        An estimator of this package, of scikit-learn, or a pipeline of them.
    path : path
        A file that exists is replaced, as a whole or not at all.
    notes : dict, optional
        What JSON can express, to be had again by :func:`read_notes`. The command line keeps the
        meaning of the columns there.
    overwrite : bool, default=True
        False: a file that exists, also one that appears meanwhile, raises FileExistsError.

    Raises
    ------
    ValueError
        When the model is not fitted, or holds a function or a class that a file without code
        cannot hold.

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
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(f"fit the {type(model).__name__} before saving it") from error
    try:
        data = dumps(model, compression=zipfile.ZIP_DEFLATED)
        if _unpacked(data) > _limit(data):  # long columns of zeros; loading would suspect them
            data = dumps(model)
        foreign = _foreign_types(get_untrusted_types(data=data))
    except Exception as error:  # skops has its own for each kind of object
        raise ValueError(f"the model cannot be saved without code: {error}") from error
    if foreign:
        raise ValueError(
            f"the model holds {', '.join(foreign)}, and a file without code cannot hold that; "
            "use a named or a precomputed kernel, and transformers of scikit-learn or lpsvdd"
        )
    about = {"format": 1, "versions": _versions(), "notes": notes or {}}
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, json.dumps(about, indent=1))
    with whole_file(path, overwrite=overwrite) as handle:
        handle.write(buffer.getbuffer())


def load_model(path: str | Path) -> Any:
    """The fitted model that :func:`save` wrote; its scores are the same to the last bit.

    Nothing in the file is executed, and no type outside a fixed list is built.

    Raises
    ------
    ModelFileError
        A ValueError: the file is no model file, is damaged, holds other types than ours and
        scikit-learn's, or was written by a newer version of this package.

    Warns
    -----
    ModelVersionWarning
        When it was written with another version of scikit-learn or NumPy (first two numbers).
    """
    from skops.io import get_untrusted_types, loads

    path = Path(path)
    data = _read(path)
    versions, _ = _about(path, data)
    try:
        named = get_untrusted_types(data=data)
    except Exception as error:
        raise _damaged(path, error) from error
    foreign = _foreign_types(named)
    if foreign:
        raise ModelFileError(
            f"{path.name} asks for {', '.join(foreign[:3])}, which is no part of a model of "
            "lpsvdd: it was not loaded"
        )
    try:
        with warnings.catch_warnings():
            # scikit-learn says the same once for each of its estimators; we say it once.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = loads(data, trusted=named)
        if not isinstance(model, BaseEstimator):
            raise TypeError(f"it holds a {type(model).__name__}")
        check_is_fitted(model)
    except Exception as error:
        raise _damaged(path, error) from error
    _compare_versions(path, versions)
    return model


def read_notes(path: str | Path) -> dict[str, Any]:
    """The notes given to :func:`save`."""
    path = Path(path)
    return _about(path, _read(path))[1]


def _versions() -> dict[str, str]:
    others = {name: version(name) for name in ("scikit-learn", "numpy", "scipy", "skops")}
    return {"lpsvdd": __version__, "python": platform.python_version(), **others}


def _foreign_types(names: list[str]) -> list[str]:
    harmless = {  # types in scikit-learn's estimators that skops does not trust by itself
        "numpy.dtype",  # inside a SimpleImputer
        "sklearn.compose._column_transformer._RemainderColsList",  # a list of names, up to 1.6
    }
    return sorted(set(names) - harmless - set(OUR_TYPES))


def _damaged(path: Path, error: Exception) -> ModelFileError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ModelFileError(f"{path.name} is a damaged model file ({reason}): save it again")


def _read(path: Path) -> bytes:
    """The bytes of an archive of plausible size; other files are refused by what they look like."""
    data = path.read_bytes()
    if data[:4] == b"PK\x03\x04":
        try:
            unpacked = _unpacked(data)
        except Exception as error:
            raise _damaged(path, error) from error
        if unpacked > _limit(data):
            raise _damaged(path, ValueError(f"it would unpack to {unpacked / 1e9:.1f} GB"))
        return data
    kind = "is not a model file of lpsvdd"
    if not data:
        kind = "is empty"
    elif data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        kind = "is a pickle (or joblib) file, which could run any code, and is not loaded"
    raise ModelFileError(f"{path.name} {kind}; models are written by lpsvdd.save or lpsvdd fit")


def _unpacked(data: bytes, depth: int = 0) -> int:
    """Bytes that loading asks for: of all members, archives inside them, and declared arrays.

    A member is never read beyond its declared size, and none is read before the sum of those is
    within the limit. An array of NumPy's format is allocated as its own header says.
    """
    limit = _limit(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        for member in members:
            if total > limit:
                break
            with archive.open(member) as stream:
                start = stream.read(10_100)  # NumPy reads headers of up to 10,000 characters
                if start[:4] == b"PK\x03\x04":  # sparse matrices make a depth of two
                    inside = start + stream.read()
                    total += _unpacked(inside, depth + 1) if depth < 3 else limit + 1
                elif start[:6] == np.lib.format.MAGIC_PREFIX:
                    total += max(0, _array_bytes(start) - member.file_size)
    return total


def _array_bytes(start: bytes) -> int:
    """Size of an array by its header; 0 where the header is none, which loading will refuse."""
    stream = io.BytesIO(start)
    try:
        read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[np.lib.format.read_magic(stream)[0]](stream)
    except (ValueError, KeyError, SyntaxError):
        return 0
    return math.prod(shape) * dtype.itemsize


def _limit(data: bytes) -> int:
    """Most that an honest file unpacks to: a small archive must not fill the memory."""
    return 100 * len(data) + 10**7


def _about(path: Path, data: bytes) -> tuple[dict[str, str], dict[str, Any]]:
    """Versions and notes of our own member of the archive, checked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if MEMBER not in archive.namelist():
            raise ModelFileError(
                f"{path.name} is an archive but not a model file of lpsvdd (no {MEMBER} in it)"
            )
        try:
            about = json.loads(archive.read(MEMBER))
            number, versions = int(about["format"]), dict(about["versions"])
            notes = dict(about["notes"])
            writer = str(versions["lpsvdd"])
        except Exception as error:
            raise _damaged(path, error) from error
    if number > 1:  # raised when older versions of this package cannot read a new file
        raise ModelFileError(
            f"{path.name} was written by lpsvdd {writer} in format {number}; this is lpsvdd "
            f"{__version__}, which reads format 1: install the newer version"
        )
    return versions, notes


def _compare_versions(path: Path, written: dict[str, str]) -> None:
    """Warn of other versions of what decides the numbers that a loaded model computes."""
    present = _versions()
    other = [
        f"{name} {written.get(name, 'unknown')} (here {present[name]})"
        for name in ("lpsvdd", "scikit-learn", "numpy")
        if str(written.get(name, "")).split(".")[:2] != present[name].split(".")[:2]
    ]
    if other:
        warnings.warn(
            f"{path.name} was written with {', '.join(other)}: compare some scores with stored "
            "ones before relying on it, or fit it again",
            ModelVersionWarning,
            stacklevel=3,
        )
