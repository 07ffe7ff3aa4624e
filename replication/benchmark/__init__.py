"""Benchmark of the solver against general ones: every answer is judged by one referee.

In the shape of benchopt: ``objective`` holds the problems and the referee, who returns the gap;
``solvers`` one small function a contestant; ``small`` and ``scale`` say what is measured at small
and at large sizes, and run it. See ``README.md`` here for the columns.
"""

from replication.benchmark.objective import GridCell, all_cells, make_problem

__all__ = ["GridCell", "all_cells", "make_problem"]
