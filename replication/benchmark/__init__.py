"""Benchmark of the solver against general ones: every answer is judged by one referee.

``run`` measures and writes one row per measurement, ``report`` turns the table into the few
numbers that matter, ``plots`` draws it. See ``benchmarks/README.md`` for the columns.
"""

from replication.benchmark.grid import Cell, all_cells, make_problem
from replication.benchmark.report import read, report, targets
from replication.benchmark.run import PROFILES, Profile, run

__all__ = [
    "PROFILES", "Cell", "Profile", "all_cells", "make_problem", "read", "report", "run", "targets",
]  # fmt: skip
