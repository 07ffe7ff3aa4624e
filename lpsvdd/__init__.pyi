from .conformal import ConformalDetector
from .estimators import LpSVDD
from .persistence import load_model, save
from .selection import LpSVDDCV
from .solver import Solution, solve, solve_path

__version__: str
__all__ = [
    "ConformalDetector",
    "LpSVDD",
    "LpSVDDCV",
    "Solution",
    "load_model",
    "save",
    "solve",
    "solve_path",
]
