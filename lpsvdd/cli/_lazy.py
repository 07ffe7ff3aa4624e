"""NumPy, loaded when it is first used: ``lpsvdd --help`` does without."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
else:
    import lazy_loader

    np = lazy_loader.load("numpy")

__all__ = ["np"]
