"""Support vector data description with an lp slack norm: certified, fast, scikit-learn style."""

from __future__ import annotations

from lpsvdd.solver import Solution, solve, solve_path
from lpsvdd.svdd import LpSVDD

__version__ = "0.1.0"
__all__ = ["LpSVDD", "Solution", "__version__", "solve", "solve_path"]
