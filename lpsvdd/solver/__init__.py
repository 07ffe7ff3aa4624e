r"""The lp-SVDD problem and its certified solution.

Reading order: ``_problem`` (the derivation as code), ``_gram`` (a checked kernel matrix),
``_radius`` (the best R2 for a centre), ``_interior_point`` (the method), ``_solve`` (one problem,
whole grids), ``_batch`` (many small problems at once), ``_nonnegative`` (R2 >= 0 as printed).
"""

from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Certificate, Problem, certify
from lpsvdd.solver._solve import Solution, solve, solve_path

__all__ = ["Certificate", "Gram", "Problem", "Solution", "certify", "solve", "solve_path"]
