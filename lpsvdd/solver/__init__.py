r"""The lp-SVDD problem and its certified solution.

Reading order: ``problem`` (the derivation), ``radius`` (the best R2 for a centre), ``points`` (what
a problem asks of its points), ``certificate`` (what may be called optimal), ``active_set`` (the
loop), ``support_newton`` and ``interior_point`` (its two methods), ``linear_systems`` (what both
solve), ``solve`` (the functions for users), ``landmarks``, ``blocks`` and ``memory`` (points that
do not fit in memory).
"""

from lpsvdd.solver.landmarks import choose_landmarks
from lpsvdd.solver.points import Coordinates, Gram, Rows
from lpsvdd.solver.problem import Problem
from lpsvdd.solver.solve import Certificate, Solution, certify, solve, solve_path

__all__ = [
    "Certificate", "Coordinates", "Gram", "Problem", "Rows", "Solution", "certify",
    "choose_landmarks", "solve", "solve_path",
]  # fmt: skip
