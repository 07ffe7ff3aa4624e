"""Shared set-up: deterministic property tests, and no view of the user's own data folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("deterministic", derandomize=True, database=None, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True)
def matplotlib_settings():
    """Leave the settings of Matplotlib, where it is installed, as they were before the test."""
    try:
        from matplotlib import rc_context
    except ImportError:  # the environment with the lowest versions has no plots
        yield
        return
    with rc_context():
        yield


@pytest.fixture(autouse=True)
def user_data(tmp_path, monkeypatch) -> Path:
    """An empty user data folder: results must not depend on files that one developer has."""
    folder = tmp_path / "user-data"
    monkeypatch.setenv("LPSVDD_DATA", str(folder))
    return folder
