"""The twenty data sets of the paper's Table 1: one record each, loaded by id or by name.

A data set is a matrix X (n × d, float64, missing values NaN) with labels y ∈ {+1, −1}, +1 for the
target class. Eighteen sets come with the replication: seventeen from its tables, the waveforms (D8)
from a generator. D4 and D5 may not be redistributed and are read from a user data folder.
"""

from __future__ import annotations

from replication.datasets.loader import (
    CorruptedTableError,
    Dataset,
    MissingDataError,
    catalogue,
    load,
    verify,
)
from replication.datasets.records import RECORDS, Record, find
from replication.datasets.user import add, user_folder

__all__ = [
    "RECORDS",
    "CorruptedTableError",
    "Dataset",
    "MissingDataError",
    "Record",
    "add",
    "catalogue",
    "find",
    "load",
    "user_folder",
    "verify",
]
