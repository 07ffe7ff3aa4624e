"""The experiments that decide: each a pure job per task, each with its own table in ``results/``.

``STUDIES`` lists them; ``run_study`` computes one, or takes it from ``results/`` when it was
computed with the same parameters and computation version.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pandas as pd

from replication.experiment import Study, compute
from replication.studies import study

__all__ = ["STUDIES", "Study", "find_study", "run_study"]


def __getattr__(name: str) -> Any:
    """Import all studies when their list is asked for: a finding needs the names of one."""
    if name != "STUDIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for found in iter_modules(__path__):  # a module registers its studies when it is imported
        import_module(f"{__name__}.{found.name}")
    return study.STUDIES


def find_study(name: str) -> Study:
    """Return the study of that name."""
    listed = __getattr__("STUDIES")
    if name not in listed:
        raise KeyError(f"unknown experiment {name!r}: expected one of {', '.join(listed)}")
    return listed[name]


def run_study(name: str, **how: Any) -> pd.DataFrame:
    """Return the table of one experiment, computed with the options of ``experiment.compute``."""
    return compute(find_study(name), **how)
