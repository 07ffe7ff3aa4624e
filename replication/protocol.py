r"""One trial: split, scale, kernel, grid, selection on validation, test AUC.

For a data set with labels y in {+1, -1} and a trial number t, the positives and the negatives are
each permuted by a generator seeded from (seed, data set, t) and cut into train, validation and
test parts. The partition depends on nothing else, so every method, both settings and every order
of execution see the same one. In the setting ``pure`` the negatives of the training part are
dropped; in ``negatives`` they stay.

Features are imputed, standardised with mean and standard deviation of the *positive training*
rows, and each row is scaled to unit Euclidean norm. The Gaussian kernel is
exp(-d^2 / (2 s^2)) with s = half the mean pairwise distance of the training rows (both classes
when negatives are used). Each method gives scores for every cell of its grid; the cell with the
highest validation AUC is kept and its test AUC reported,

    AUC = 100 (#{s_pos > s_neg} + 1/2 #{s_pos = s_neg}) / (n_pos n_neg)      in percent.

Ties in the validation AUC are exact (it is a ratio of half-integers) and go to the first cell in
the order of the method's grid. Cells without a solution (l1 with c < 1/n) take no part in the
selection and are counted in the column ``infeasible``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import rankdata

COMPUTATION_VERSION = "2"
"""Raised by hand whenever a change of code may change a number in ``results/``."""

FLAGGED = {"D4": "inferred-labels", "D5": "inferred-target"}
"""Data sets whose rows carry a flag, with the reason (see the catalogue's notes)."""

RESOLUTION = 1e-12
"""Scores closer than this times the largest |score| count as equal: identical rows may be
rounded differently by matrix products of different shapes."""
CERTIFIED_RESOLUTION = 1e-5
"""The same for scores of solved problems. D is strongly concave in the centre: P - D >=
||a - a*||^2. A gap of 1e-9 thus leaves a centre known to 3e-5 and no more, and where all points lie
on one sphere (D13 has few distinct rows) the order of finer digits is not proved."""


@dataclass(frozen=True)
class Options:
    """Every choice the paper leaves open, with the default used for the main tables.

    Parameters
    ----------
    train, validation : fractions of each class, written as text ("1/3"); the rest is the test part
    unit_norm : scale each standardised row to norm 1 (the paper does)
    formula : "2s2" for exp(-d^2/(2 s^2)), "s2" for exp(-d^2/s^2)
    width_factor : multiplies the half-mean-distance width s
    imputation : how missing values are filled, a strategy of ``PositiveImputer``
    target : another target class than the catalogue's, None for the catalogue's
    seed : first entry of every trial's seed
    """

    train: str = "1/3"
    validation: str = "1/3"
    unit_norm: bool = True
    formula: str = "2s2"
    width_factor: float = 1.0
    imputation: str = "mean"
    target: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        train, validation = Fraction(self.train), Fraction(self.validation)
        if not (train > 0 and validation > 0 and train + validation < 1):
            raise ValueError(
                f"train={self.train}, validation={self.validation}: both must be positive "
                "fractions with a sum below 1 (the rest is the test part)"
            )
        if self.formula not in ("2s2", "s2"):
            raise ValueError(f"formula={self.formula!r}: expected '2s2' or 's2'")
        if not self.width_factor > 0:
            raise ValueError(f"width_factor={self.width_factor}: must be positive")


DEFAULTS = Options()


@dataclass(frozen=True, order=True)
class Task:
    """The unit of work: one data set, one setting, one trial."""

    dataset: str
    setting: str
    trial: int

    @property
    def key(self) -> str:
        """Name of the file that holds the result."""
        return f"{self.dataset}-{self.setting}-{self.trial:02d}"


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, each with both classes, in ascending order."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def trial_seed(dataset: str, trial: int, seed: int = 0) -> int:
    """32-bit seed of a trial: SHA-256 of "seed:dataset:trial", so it is the same everywhere."""
    text = f"{seed}:{dataset}:{trial}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def split(y: np.ndarray, dataset: str, trial: int, options: Options = DEFAULTS) -> Split:
    """Cut positives and negatives each at random into train, validation and test rows."""
    rng = np.random.default_rng(trial_seed(dataset, trial, options.seed))
    cuts = (Fraction(options.train), Fraction(options.train) + Fraction(options.validation))
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for label in (1, -1):
        rows = rng.permutation(np.flatnonzero(y == label))
        first, second = (round(cut * len(rows)) for cut in cuts)
        if not 0 < first < second < len(rows):
            raise ValueError(
                f"{dataset}: {len(rows)} rows of class {label:+d} cannot be cut into three parts"
            )
        for part, piece in zip(parts, np.split(rows, [first, second]), strict=True):
            part.append(piece)
    return Split(*(np.sort(np.concatenate(part)) for part in parts))


def drop_fine_digits(scores: np.ndarray, resolution: float) -> np.ndarray:
    """Scores as multiples of ``resolution`` times the largest |score|: finer digits are dropped.

    First, neighbours in order that are closer than RESOLUTION get one value: between equal rows
    that were rounded differently there must not lie the border of a multiple.
    """
    largest = max(float(np.abs(scores).max()), np.finfo(float).tiny / RESOLUTION)
    order = np.argsort(scores)
    ordered = scores[order]
    first = np.append(True, np.diff(ordered) > RESOLUTION * largest)
    equal = np.empty_like(ordered)
    equal[order] = ordered[first][np.cumsum(first) - 1]
    if resolution <= RESOLUTION:
        return equal
    return np.round(equal / (resolution * largest)) * (resolution * largest)


def auc(scores: np.ndarray, y: np.ndarray) -> float:
    """Area under the ROC curve in percent; higher scores mean more normal (+1)."""
    if not np.all(np.isfinite(scores)):
        raise ValueError("scores must be finite")
    positive = np.asarray(y) == 1
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if n_pos == 0 or n_neg == 0:
        raise ValueError("the AUC needs rows of both classes")
    wins = rankdata(scores)[positive].sum() - n_pos * (n_pos + 1) / 2
    return 100.0 * wins / (n_pos * n_neg)


def best_validation_cell(validation: list[float | None]) -> int | None:
    """Index of the highest validation AUC, the first one among ties; None if no cell has one."""
    best = None
    for index, value in enumerate(validation):
        if value is not None and (best is None or value > validation[best]):
            best = index
    return best
