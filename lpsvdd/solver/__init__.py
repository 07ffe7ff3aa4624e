r"""The lp-SVDD problem and its certified solution.

Reading order: ``_problem`` (the derivation), ``_arithmetic`` (its terms, for one problem or many),
``_gram`` (a checked kernel matrix), ``_radius`` (the best R2 for a centre), ``_interior_point``
(the method), ``_feature_space`` and ``_centre`` (the same where kernel sums cancel),
``_certificate`` (what may be called optimal), ``_dense`` (one problem), ``_batch`` (many small
problems at once), ``_solve`` (the two functions for users), ``_share`` (the cost for a share
outside), ``_nonnegative`` (R2 >= 0 as printed). For many points: ``_rows`` (kernel values on
demand), ``_working_set`` with ``_box`` (p = 1) and ``_support_newton`` (p >= 2), ``_choice`` (which
solver, and its memory). For landmarks: ``_chart`` (coordinates in their span), ``_blocks`` (rows of
an array or of dask), ``_landmarks`` (the restricted ball), ``_normal`` and ``_passes`` (its two
methods), ``_landmark_choice``.
"""

from lpsvdd.solver._certificate import Certificate, certify
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._landmark_choice import choose_landmarks
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._rows import Rows
from lpsvdd.solver._solve import Solution, solve, solve_path
from lpsvdd.solver._working_set import solve_path_large, solve_working_set

__all__ = [
    "Certificate", "Gram", "Problem", "Rows", "Solution", "certify", "choose_landmarks", "solve",
    "solve_path", "solve_path_large", "solve_working_set",
]  # fmt: skip
