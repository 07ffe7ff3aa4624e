r"""Criteria from the literature that choose a width without outliers, beside the package's own two.

A criterion is a function ``(fold, model, held_out) -> float``; larger is better
(``lpsvdd.selection``). Those that look at the kernel alone need nothing of the model but its width.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import trapezoid
from sklearn.neighbors import NearestNeighbors

from lpsvdd import selection
from lpsvdd.selection import Fold


def uniform_outlier_error(fold: Fold, model, held_out: np.ndarray) -> float:
    """Minus (share of held-out rows rejected + share of uniform outliers accepted).

    Tax and Duin, JMLR 2, 2001; the outliers are uniform in the box of the features.
    """
    rejected = np.mean(model.predict(held_out) < 0)
    return -float(rejected + np.mean(model.predict(fold.outliers["uniform"]) > 0))


def kernel_variance(fold: Fold, model, held_out: np.ndarray) -> float:
    """Variance of the kernel values between different rows: neither all 0 nor all 1.

    Evangelista, Embrechts and Szymanski, ICANN 2007.
    """
    K = np.exp(-model.gamma_ * fold.training_distances)
    return float(K[np.triu_indices(len(K), 1)].var())


def mean_criterion(fold: Fold, model, held_out: np.ndarray) -> float:
    r"""Minus the distance, in log gamma, to the closed form of Chaudhuri et al. (2017).

    sigma^2 = 2 n v / ((n - 1) log((n - 1)/delta^2)), v the sum of the variances, delta = 1e-6
    sqrt(2), gamma = 1/(2 sigma^2): the kernel matrix of such a width differs from the identity by
    a given small amount.
    """
    n, variance = len(fold.X), float(fold.X.var(axis=0).sum())
    if n < 2 or variance <= 0.0:
        return 0.0
    sigma_sq = 2.0 * n * variance / ((n - 1) * np.log((n - 1) / 2e-12))
    return -abs(float(np.log(model.gamma_ * 2.0 * sigma_sq)))


def shifted_data(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Rows at the edge shifted outwards, and rows shifted inwards (Wang et al. 2018).

    At row x with k = 5 log10(n) neighbours x_j let v = sum_j (x - x_j)/||x - x_j||, the direction
    away from them, and theta the share of neighbours behind it, (x_j - x)'v <= 0. Rows with
    theta >= 0.95 are at the edge: shifted along v by the mean distance to the neighbours they
    become pseudo-outliers. All rows, shifted against v by at most as much, become pseudo-targets.
    """
    k = min(math.ceil(5.0 * math.log10(len(X))), len(X) - 1)
    if k < 1:
        return X.copy(), X.copy()
    distances, index = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    away = X[:, None] - X[index]
    units = away / np.maximum(distances, 1e-300)[..., None]
    normal = units.sum(axis=1)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 1e-12)
    along = np.einsum("ijk,ik->ij", away, normal)  # (x - x_j)'n: positive behind x
    edge = (along >= 0.0).mean(axis=1) >= 0.95
    if not edge.any():
        edge = along.mean(axis=1) >= np.quantile(along.mean(axis=1), 0.9)
    step = distances.mean(axis=1, keepdims=True)
    inwards = np.minimum(step, np.maximum(along.min(axis=1, keepdims=True), 0.0))
    return X[edge] + step[edge] * normal[edge], X - inwards * normal


def data_shifting(fold: Fold, model, held_out: np.ndarray) -> float:
    """Minus the mean of two errors: pseudo-targets rejected, pseudo-outliers accepted.

    Self-adaptive data shifting: Wang, Liu, Zhu, Porikli and Yin, Pattern Recognition 74, 2018.
    """
    outliers, targets = shifted_data(fold.X)
    rejected = np.mean(model.predict(targets) < 0)
    return -0.5 * float(rejected + np.mean(model.predict(outliers) > 0))


def farthest_nearest(fold: Fold, model, held_out: np.ndarray) -> float:
    """Mean kernel value to the nearest other row minus that to the farthest.

    DFN: Xiao, Wang, Zhang and Xu, Knowledge-Based Systems 59, 2014.
    """
    K = np.exp(-model.gamma_ * fold.training_distances)
    farthest = K.min(axis=1)
    np.fill_diagonal(K, -np.inf)
    return float(np.mean(K.max(axis=1) - farthest))


def consistency(fold: Fold, model, held_out: np.ndarray) -> float:
    r"""log gamma while the model is consistent: the narrowest consistent kernel wins.

    Consistent: the share of held-out rows rejected is at most nu + 2 sqrt(nu (1 - nu)/n). One that
    is not gets minus its rejected share times a million, lower than any width.
    Tax and Mueller, ICPR 2004.
    """
    rejected, nu = np.mean(model.predict(held_out) < 0), model.nu
    if rejected <= nu + 2.0 * np.sqrt(nu * (1.0 - nu) / len(held_out)):
        return float(np.log(model.gamma_))
    return -1e6 * float(rejected)


def excess_mass(fold: Fold, model, held_out: np.ndarray) -> float:
    r"""Area under the excess-mass curve EM(t) = max_u P(s > u) - t V(s > u), V from uniform points.

    Goix, ICML Anomaly Detection Workshop 2016; t up to where EM falls to 0.9, volumes as shares of
    the box.
    """
    mass, volume = _mass_and_volume(fold, model, held_out)
    levels = np.linspace(0.0, 100.0, 1001)
    curve = np.max(mass[None, :] - levels[:, None] * volume[None, :], axis=1)
    last = int(np.argmax(curve <= 0.9)) if (curve <= 0.9).any() else len(levels) - 1
    return float(trapezoid(curve[: last + 1], levels[: last + 1]))


def mass_volume(fold: Fold, model, held_out: np.ndarray) -> float:
    """Minus the area under the volume of the smallest level set of mass a, a from 0.9 to 1.

    Goix (2016); volumes as shares of the box, by uniform points.
    """
    mass, volume = _mass_and_volume(fold, model, held_out)
    masses = np.linspace(0.9, 0.999, 100)
    return -float(np.mean(volume[np.searchsorted(mass, masses, "left").clip(max=len(mass) - 1)]))


def _mass_and_volume(fold: Fold, model, held_out) -> tuple[np.ndarray, np.ndarray]:
    """Shares of held-out rows and of the box above each level of the score, levels falling."""
    held = np.sort(model.score_samples(held_out))[::-1]
    uniform = np.sort(model.score_samples(fold.outliers["uniform"]))[::-1]
    mass = np.arange(1, len(held) + 1) / len(held)
    volume = np.searchsorted(-uniform, -held, "right") / len(uniform)
    return mass, volume


CRITERIA = {
    "artificial-outliers": selection.CRITERIA["artificial-outliers"],
    "uniform-outliers": uniform_outlier_error,
    "consistency": consistency,
    "kernel-variance": kernel_variance,
    "mean-criterion": mean_criterion,
    "data-shifting": data_shifting,
    "farthest-nearest": farthest_nearest,
    "likelihood": selection.CRITERIA["likelihood"],
    "excess-mass": excess_mass,
    "mass-volume": mass_volume,
}
"""Every criterion of the study, by name."""
