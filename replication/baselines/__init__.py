"""The methods lp-SVDD is compared with: the paper's GP, KPCA and KNFST, and the kernel mean.

All are kernel one-class detectors: higher score = more normal, ``kernel="precomputed"`` works. The
kernel mean is not in the paper; it is the floor that every one-class method should beat.
"""

from replication.baselines.gaussian_process import GaussianProcessOCC
from replication.baselines.kernel_mean import KernelMean
from replication.baselines.knfst import KNFST
from replication.baselines.kpca import KernelPCAOCC

__all__ = ["KNFST", "GaussianProcessOCC", "KernelMean", "KernelPCAOCC"]
