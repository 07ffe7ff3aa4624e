"""Support vector data description with an lp slack norm."""

from __future__ import annotations

__version__ = "0.1.0"
