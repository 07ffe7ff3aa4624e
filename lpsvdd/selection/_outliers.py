r"""Artificial outliers: points made from the data that real data would hardly show.

No single kind resembles the anomalies of every problem; a mixture of kinds is what helps to choose
a width. With rows x of the fitted data, e_k its k-th principal component:

    uniform         in the box of the features
    pc-uniform      in the box of the principal components
    permuted        every feature from a row of its own: margins kept, dependence gone
    pc-permuted     the same with the principal components
    mixed           three features in ten from other rows
    jittered-1, -2  x moved in a random direction by once, twice its distance to neighbour five
    pc-jittered-1, -2  the same, directions drawn as the data vary: no step leaves their span
    extrapolated    x moved away from another row by half their distance
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state


class _Rows:
    """Hold the rows that outliers are made from, and what several kinds need to know of them."""

    def __init__(self, X: np.ndarray, rng: np.random.RandomState) -> None:
        self.X, self.rng = X, rng
        self.mean = X.mean(axis=0)

    @cached_property
    def axes(self) -> np.ndarray:
        """Return the principal axes as rows, those along which the data vary."""
        _, size, axes = np.linalg.svd(self.X - self.mean, full_matrices=False)
        return axes[size > 1e-9 * max(size[0], 1e-300)]

    @cached_property
    def components(self) -> np.ndarray:
        """Return the coordinates of the rows along the axes."""
        return (self.X - self.mean) @ self.axes.T

    @cached_property
    def neighbour_distance(self) -> np.ndarray:
        """Return the distance of each row to its fifth neighbour, or to the last of fewer."""
        k = min(5, len(self.X) - 1)
        if k < 1:
            return np.ones(len(self.X))
        distances, _ = NearestNeighbors(n_neighbors=k).fit(self.X).kneighbors()
        return distances[:, -1]

    def pick(self, n: int) -> np.ndarray:
        """Return the numbers of n rows, drawn with replacement."""
        return self.rng.randint(len(self.X), size=n)

    def from_components(self, values: np.ndarray) -> np.ndarray:
        """Return points with these coordinates along the axes."""
        return values @ self.axes + self.mean

    def permuted(self, values: np.ndarray, n: int) -> np.ndarray:
        """Return n points whose every coordinate is that of a row of its own."""
        chosen = self.rng.randint(len(values), size=(n, values.shape[1]))
        return np.take_along_axis(values, chosen, axis=0)

    def moved(self, direction: np.ndarray, factor: float) -> np.ndarray:
        """Return rows moved along the directions by ``factor`` times ``neighbour_distance``."""
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        chosen = self.pick(len(direction))
        step = factor * self.neighbour_distance[chosen, None] / np.maximum(length, 1e-300)
        return self.X[chosen] + step * direction

    def uniform(self, values: np.ndarray, n: int) -> np.ndarray:
        """Return n points uniform in the box of the given ones."""
        return self.rng.uniform(values.min(axis=0), values.max(axis=0), size=(n, values.shape[1]))


def _mixed(rows: _Rows, n: int) -> np.ndarray:
    d = rows.X.shape[1]
    places = rows.rng.random_sample((n, d)).argsort(axis=1)
    others = places < max(1, round(0.3 * d))
    return np.where(others, rows.permuted(rows.X, n), rows.X[rows.pick(n)])


def _jittered(rows: _Rows, n: int, factor: float) -> np.ndarray:
    return rows.moved(rows.rng.standard_normal((n, rows.X.shape[1])), factor)


def _pc_jittered(rows: _Rows, n: int, factor: float) -> np.ndarray:
    like_data = rows.rng.standard_normal((n, len(rows.axes))) * rows.components.std(axis=0)
    return rows.moved(like_data @ rows.axes, factor)


def _extrapolated(rows: _Rows, n: int) -> np.ndarray:
    x = rows.X[rows.pick(n)]
    return x + 0.5 * (x - rows.X[rows.pick(n)])


KINDS: dict[str, Callable[[_Rows, int], np.ndarray]] = {
    "uniform": lambda rows, n: rows.uniform(rows.X, n),
    "pc-uniform": lambda rows, n: rows.from_components(rows.uniform(rows.components, n)),
    "permuted": lambda rows, n: rows.permuted(rows.X, n),
    "pc-permuted": lambda rows, n: rows.from_components(rows.permuted(rows.components, n)),
    "mixed": _mixed,
    "jittered-1": lambda rows, n: _jittered(rows, n, 1.0),
    "jittered-2": lambda rows, n: _jittered(rows, n, 2.0),
    "pc-jittered-1": lambda rows, n: _pc_jittered(rows, n, 1.0),
    "pc-jittered-2": lambda rows, n: _pc_jittered(rows, n, 2.0),
    "extrapolated": _extrapolated,
}
"""Name of each kind, and what makes it."""


def artificial_outliers(X: np.ndarray, n: int, *, random_state=None) -> dict[str, np.ndarray]:
    """Return n artificial outliers of each kind, made from the rows of X.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    n : int
        Number of points of each kind.
    random_state : int, RandomState or None
    """
    rows = _Rows(np.asarray(X, dtype=float), check_random_state(random_state))
    return {name: KINDS[name](rows, n) for name in KINDS}
