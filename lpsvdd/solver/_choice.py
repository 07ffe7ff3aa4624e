r"""Which solver for how many samples, and whether its memory is there.

The dense solver holds the kernel matrix, its shifted copy or factor and a workspace: 3 n^2 numbers.
The working set holds the points, a matrix of at most a few thousand of them and blocks. Up to SMALL
samples the matrix is the quickest way and needs 100 MB at most; above, the working set is exact
too. Beyond LARGEST samples it takes long, and landmarks are the way that "auto" takes.
"""

from __future__ import annotations

import os
from pathlib import Path

from lpsvdd.solver._rows import BLOCK

SMALL = 2_000  # samples up to which "auto" takes the whole matrix
CACHE = 100_000_000  # kernel values that a working set may keep: 800 MB,
SHARE = 0.25  # and of the memory available
LARGEST = 50_000  # samples up to which "auto" takes a working set; three times as many at p = 1
NUMBER = 8  # bytes


def choose(solver: str, n: int, *, n_features: int, given_matrix: bool = False) -> str:
    """The solver to use; MemoryError, in one sentence, where its arrays would not fit.

    ``given_matrix``: the n x n kernel matrix is held by the caller already.
    """
    memory = available_memory()
    chosen = solver
    if solver == "auto":
        chosen = "dense" if n <= SMALL else "working-set"
    need = needed(chosen, n, n_features, given_matrix)
    if need > memory:
        least = needed("working-set", n, n_features, given_matrix)
        way = (
            f"solver='working-set' needs {_size(least)}"
            if chosen == "dense" and least <= memory
            else f"fit on fewer samples, or give the process {_size(need)}"
        )
        raise MemoryError(
            f"solver='{chosen}' needs about {_size(need)} for {n} samples and "
            f"{_size(memory)} are available: {way}"
        )
    return chosen


def prefers_landmarks(n: int, p: float, n_features: int) -> bool:
    """Whether "auto" gives up exactness: where a working set would take hours or does not fit.

    A working set computes n |S| kernel values a round. At p = 1 most of them serve all rounds.
    """
    if n <= SMALL:
        return False
    return n > LARGEST * (3 if p == 1.0 else 1) or (
        needed("working-set", n, n_features) > available_memory()
    )


def needed(solver: str, n: int, n_features: int, given_matrix: bool = False) -> int:
    """Bytes that a fit asks for, roughly and rather too many."""
    if solver == "dense":
        return NUMBER * (2 if given_matrix else 3) * n * n
    points = 0 if given_matrix else 4 * n * (n_features + 2)
    return NUMBER * (points + 30 * n + 4 * BLOCK + min(n * n, BLOCK))


def cache() -> int:
    """Kernel values that a working set may keep."""
    return min(CACHE, int(SHARE * available_memory() / NUMBER))


def available_memory() -> int:
    """Bytes that this process can still have; a limit of its container counts."""
    found = [_physical(), _container(), _address_space()]
    return min(value for value in found if value is not None)


def _physical() -> int:
    try:
        import psutil
    except ImportError:
        pass
    else:
        return int(psutil.virtual_memory().available)
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 << 30  # unknown: what most machines have


def _container() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None


def _address_space() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        used = 0
    return max(limit - used, 0)


def _size(n_bytes: float) -> str:
    if n_bytes < 1e9:
        return f"{n_bytes / 1e6:.0f} MB"
    return f"{n_bytes / 1e9:.1f} GB"
