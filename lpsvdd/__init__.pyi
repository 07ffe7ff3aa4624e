from . import bounds, conformal, explain, kernels, plots, reference, selection, solver
from .conformal import ConformalDetector
from .estimators import LpSVDD
from .persistence import load_model, save
from .selection import LpSVDDCV
from .sensitivity import exponent_sensitivity
from .solver import Solution, solve, solve_path

__version__: str
__all__ = [
    "ConformalDetector",
    "LpSVDD",
    "LpSVDDCV",
    "Solution",
    "bounds",
    "conformal",
    "explain",
    "exponent_sensitivity",
    "kernels",
    "load_model",
    "plots",
    "reference",
    "save",
    "selection",
    "solve",
    "solve_path",
    "solver",
]
