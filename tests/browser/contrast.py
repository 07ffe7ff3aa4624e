"""Contrast of colours by the rule of WCAG 2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """Contrast of two colours whose channels go from 0 to 255."""

    def luminance(colour: Sequence[float]) -> float:
        part = np.asarray(colour) / 255
        part = np.where(part <= 0.03928, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return float(part @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
