"""The methods lp-SVDD is compared with, and the references that frame the comparison.

All are kernel one-class detectors: higher score = more normal, ``kernel="precomputed"`` works.
In the paper's tables: GP, KPCA and KNFST. Not in the paper: the kernel mean (the floor every
one-class method should beat), the difference of kernel means (the floor with labelled
negatives) and the supervised SVM on the same kernel (a ceiling with labelled negatives).
"""

from lpsvdd.baselines.gaussian_process import GaussianProcessOCC
from lpsvdd.baselines.kernel_mean import KernelMean, KernelMeanDifference
from lpsvdd.baselines.knfst import KNFST
from lpsvdd.baselines.kpca import KernelPCAOCC
from lpsvdd.baselines.svm import KernelSVM

__all__ = [
    "GaussianProcessOCC",
    "KNFST",
    "KernelMean",
    "KernelMeanDifference",
    "KernelPCAOCC",
    "KernelSVM",
]
