"""Support vector data description with an lp slack norm.

The names below are loaded when first used: scikit-learn imports pandas where it is installed, and a
program that only wants ``lpsvdd.__version__`` or the command line's help should not wait for both.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD
    from lpsvdd.openset import OpenSetClassifier
    from lpsvdd.persistence import load_model, save
    from lpsvdd.selection import LpSVDDCV
    from lpsvdd.solver import Solution, solve, solve_path
    from lpsvdd.weighted import WeightedLpSVDD

__version__ = "0.1.0"

__all__ = [
    "LpSVDD",
    "LpSVDDCV",
    "OpenSetClassifier",
    "Solution",
    "WeightedLpSVDD",
    "__version__",
    "load_model",
    "save",
    "solve",
    "solve_path",
]

_HOME = {
    "LpSVDD": "lpsvdd.estimators",
    "LpSVDDCV": "lpsvdd.selection",
    "OpenSetClassifier": "lpsvdd.openset",
    "Solution": "lpsvdd.solver",
    "WeightedLpSVDD": "lpsvdd.weighted",
    "load_model": "lpsvdd.persistence",
    "save": "lpsvdd.persistence",
    "solve": "lpsvdd.solver",
    "solve_path": "lpsvdd.solver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
