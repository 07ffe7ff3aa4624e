"""Registry of the compared methods under the paper's names, with grids and path-wise evaluation.

    from replication.methods import METHODS
    method = METHODS["pure", "l1-SVDD"]                 # or "negatives", "l1-SVDD-"
    cells = method.run(kernels)                         # every cell of the paper's grid
    cells = method.path(kernels, [{"nu": 0.1}])         # of another
    estimator = method.make({"C": 0.1})                 # the scikit-learn estimator of one cell

``grids`` holds the parameter values (plain data), ``paths`` solves a whole grid on one kernel
matrix, ``registry`` ties names, estimators, grids and paths together.
"""

from replication.methods.core import Method, ScoredCell, SplitKernels
from replication.methods.registry import METHODS

__all__ = ["METHODS", "ScoredCell", "SplitKernels", "Method"]
