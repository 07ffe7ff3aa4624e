r"""The lp-SVDD problem and its certified solution.

Reading order: ``problem`` (the derivation), ``radius`` (the best R2 for a centre), ``points`` and
``features`` (what a problem asks of its points), ``newton`` (the step), ``active`` (the loop around
it), ``support`` (the step where many points matter), ``certificate`` (what may be called optimal),
``solve`` (the functions for users), ``cost`` (the C that leaves a share outside), ``nonnegative``
(R2 >= 0 as printed), ``landmarks`` and ``blocks`` (points that do not fit in memory), ``memory``.
"""

from lpsvdd.solver.features import Coordinates
from lpsvdd.solver.landmarks import choose_landmarks
from lpsvdd.solver.points import Gram, Rows
from lpsvdd.solver.problem import Problem
from lpsvdd.solver.solve import Certificate, Solution, certify, solve, solve_path

__all__ = [
    "Certificate", "Coordinates", "Gram", "Problem", "Rows", "Solution", "certify",
    "choose_landmarks", "solve", "solve_path",
]  # fmt: skip
