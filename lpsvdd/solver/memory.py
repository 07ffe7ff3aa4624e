"""How much memory there is: what a solver may ask for, and what it keeps."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK_VALUES = (
    500_000  # kernel values held at once: no more than a cache, and memory that is used again
)
MOST_KEPT = 250_000_000  # kernel values that a problem may keep: 2 GB,
KEPT_PER_FEATURE = 2_000_000  # and fewer where they are quickly computed


def cache_size(n_features: int) -> int:
    """Kernel values that may be kept.

    Writing one to memory that is new takes as long as computing it six times from ten features,
    and as long as computing it once from a hundred.
    """
    return min(MOST_KEPT, KEPT_PER_FEATURE * (n_features + 5), available_memory() // 32)


def row_batches(n: int, width: int) -> list[slice]:
    """Slices of n rows, each of which stands for ``width`` kernel values."""
    step = max(1, BLOCK_VALUES // max(width, 1))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def refuse_if_larger(need: int, what: str, remedy: str) -> None:
    """MemoryError, in one sentence, where ``need`` bytes are not there."""
    if need < 1 << 20:  # asking takes as long as a small fit
        return
    memory = available_memory()
    if need > memory:
        raise MemoryError(
            f"{what} needs about {_size(need)} and {_size(memory)} are available: {remedy}"
        )


def available_memory() -> int:
    """Bytes that this process can still have; a limit of its container counts."""
    return min(
        value for value in (_physical(), _container(), _address_space()) if value is not None
    )


def _physical() -> int:
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
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
