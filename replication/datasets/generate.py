r"""Breiman's waveform data (D8), made from a fixed seed.

With the triangles :math:`h_c(i) = \max(6 - |i - c|, 0)`, :math:`i = 1, …, 21`, a sample of the
class with centres :math:`(a, b)` is

.. math:: x = u\,h_a + (1 - u)\,h_b + ε, \qquad u \sim U(0, 1), \quad ε \sim N(0, I_{21}).
"""

from __future__ import annotations

import numpy as np

#: Centres (a, b) of the two triangles mixed by each class.
CENTRES = {"0": (7, 15), "1": (7, 11), "2": (11, 15)}


def triangle(centre: int) -> np.ndarray:
    """Return values of h_centre at the grid points 1, …, 21."""
    return np.maximum(6.0 - np.abs(np.arange(1, 22) - centre), 0.0)


def waveform(seed: int = 8, per_class: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``per_class`` samples of each class, class after class.

    The stream is NumPy's PCG64. Values are rounded to six decimals: a last-digit difference between
    two platforms' elementary functions then leaves the checksum of the array as it is.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    blocks = []
    for a, b in CENTRES.values():
        u = rng.random((per_class, 1))
        noise = rng.standard_normal((per_class, 21))
        blocks.append(u * triangle(a) + (1.0 - u) * triangle(b) + noise)
    return np.round(np.vstack(blocks), 6), np.repeat(list(CENTRES), per_class)
