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
from replication.studies.study import STUDIES

__all__ = ["STUDIES", "Study", "find_study", "run_study"]

for _found in iter_modules(__path__):  # a module registers its studies when it is imported
    import_module(f"{__name__}.{_found.name}")


def find_study(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise KeyError(f"unknown experiment {name!r}: expected one of {', '.join(STUDIES)}")
    return STUDIES[name]


def run_study(name: str, **how: Any) -> pd.DataFrame:
    """Table of one deciding experiment, computed with the options of ``experiment.compute``."""
    return compute(find_study(name), **how)
