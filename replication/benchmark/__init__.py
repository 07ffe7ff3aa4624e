"""Benchmark of the solver against general ones: every answer is judged by one referee.

``run`` measures and writes one row per measurement, ``report`` turns the table into the few
numbers that matter, ``plots`` draws it. See ``README.md`` here for the columns.
"""

from replication.benchmark.problems import GridCell, all_cells, make_problem
from replication.benchmark.report import read, report
from replication.benchmark.run import PROFILES, Profile, run

__all__ = [
    "PROFILES", "GridCell", "Profile", "all_cells", "make_problem", "read", "report", "run",
]  # fmt: skip
