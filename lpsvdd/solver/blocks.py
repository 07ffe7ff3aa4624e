"""Rows of data that are read in blocks: from an array, a memory-mapped file, or a dask array.

All that a solver of large problems asks of the data is a sum or a list over blocks of rows:
``map`` calls a function on every block. Where the rows live is known here and nowhere else. A
function must be pure and at the top of a module, since it may be sent to another process, and may
be called again if that process is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lpsvdd.solver import memory


class ArrayBlocks:
    """Rows of a NumPy array; of a memory-mapped one only the block at hand is read."""

    def __init__(self, X: np.ndarray, kept: np.ndarray | None = None, size: int = 0) -> None:
        self.X, self.kept, self.size = X, kept, size
        self.n = len(X) if kept is None else len(kept)
        self.n_features = X.shape[1]

    def map(self, function: Callable, vectors: tuple, *args: Any, width: int = 1) -> list:
        """[function(rows, *slices of the vectors, *args) for every block], in order.

        ``width`` is the number of kernel values a row stands for.
        """
        size = self.size or max(1, memory.BLOCK_VALUES // max(width, 1))
        parts = []
        for first in range(0, self.n, size):
            some = slice(first, min(first + size, self.n))
            parts.append(function(self._rows(some), *(v[some] for v in vectors), *args))
        return parts

    def subset(self, indices: np.ndarray) -> ArrayBlocks:
        """Some of the rows (indices in order) as blocks of their own."""
        return ArrayBlocks(self.X, self._number(indices))

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Some of the rows, as numbers in double precision."""
        return np.asarray(self.X[self._number(indices)], dtype=np.float64)

    def _rows(self, some: slice) -> np.ndarray:
        return np.asarray(self.X[self._number(some)], dtype=np.float64)

    def _number(self, some):
        return some if self.kept is None else self.kept[some]


class DaskBlocks:
    """Rows of a dask array: every chunk is a task, wherever dask computes it.

    A chunk is read, used and forgotten; nothing is kept on a worker, so that one that is lost
    costs its tasks and no more.
    """

    def __init__(self, X, kept: np.ndarray | None = None) -> None:
        X = as_dask_array(X)
        self.X, self.chunks = X, X.to_delayed().ravel()
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])])
        self.kept = np.arange(self.starts[-1]) if kept is None else kept
        self.n, self.n_features = len(self.kept), X.shape[1]

    def map(self, function: Callable, vectors: tuple, *args: Any, width: int = 1) -> list:
        dask = _dask()
        task = dask.delayed(_on_chunk, pure=False)
        size = max(1, memory.BLOCK_VALUES // max(width, 1))
        cuts = np.searchsorted(self.kept, self.starts)
        tasks = []
        for chunk, start, first, last in zip(
            self.chunks, self.starts, cuts, cuts[1:], strict=False
        ):
            if first == last:
                continue
            rows = _short(self.kept[first:last] - start)
            slices = tuple(v[first:last] for v in vectors)
            tasks.append(task(function, chunk, rows, slices, args, size))
        return [result for part in dask.compute(*tasks) for result in part]

    def subset(self, indices: np.ndarray) -> DaskBlocks:
        return DaskBlocks(self.X, self.kept[indices])

    def take(self, indices: np.ndarray) -> np.ndarray:
        order = np.argsort(indices, kind="stable")
        part = self.subset(indices[order])
        rows = np.empty((len(indices), self.n_features))
        if len(indices):
            rows[order] = np.concatenate(part.map(_rows_themselves, (), width=1))
        return rows


def _dask() -> Any:
    """dask, which is needed for its arrays only and may be installed in part."""
    try:
        import dask.delayed
    except ImportError as error:
        raise ImportError("dask arrays need dask: pip install 'lpsvdd[cluster]'") from error
    return dask


def _short(rows: np.ndarray) -> np.ndarray | slice:
    """A run of rows as a slice, which is quicker to send and to use."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _on_chunk(function, chunk, rows, slices, args, size) -> list:
    return ArrayBlocks(np.asarray(chunk)[rows], size=size).map(function, slices, *args)


def _rows_themselves(X: np.ndarray) -> np.ndarray:
    return X


def is_dask(X: object) -> bool:
    """Whether X is a dask array or DataFrame; dask is imported by whoever made it."""
    return type(X).__module__.partition(".")[0].startswith("dask") and hasattr(X, "to_delayed")


def as_dask_array(X):
    """A dask array with chunks of known size, of a dask array or DataFrame."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be a table of numbers, got shape {X.shape}, {X.dtype}")
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1})


def blocks_of(X, kept: np.ndarray | None = None) -> ArrayBlocks | DaskBlocks:
    """The blocks of an array, whichever it is."""
    return DaskBlocks(X, kept) if is_dask(X) else ArrayBlocks(X, kept)


def map_rows(function: Callable[[np.ndarray], np.ndarray], X):
    """A number for each row of a dask array (or DataFrame), as a dask array."""
    return as_dask_array(X).map_blocks(function, drop_axis=1, dtype=np.float64)
