r"""Does the risk of rejection lie in its interval? Simulation with known populations.

The plan, with questions and decision rules, is ``plans/rejection.md``. Kernel and costs are fixed
before any point is drawn. The cost follows from a nominal share nu and a slack s that is typical
for the population: if nu n points lie outside by s, stationarity asks for

    C = 1 / (p nu n s^(p-1)).

The risk of a fitted ball is exact where it can be had (a tail of a noncentral chi-square or of
Student's distribution, a sum over atoms), else the share of fresh points rejected.

    coverage       every population, n, p, C: misses on both sides     -> rejection_coverage.csv
    datasets_job   a job for each split of the twenty data sets        -> rejection_datasets.csv
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, ncx2, norm, t

from lpsvdd import LpSVDD
from lpsvdd.bounds import bound_of, determining_points, rejection_risk
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from replication import datasets
from replication.preprocessing import preprocessor
from replication.protocol import Task
from replication.runner import Row
from replication.studies.study import Named, as_rows, study

REJECTION_SEED = 15
BETAS = (0.05, 0.5)
RISK_EXPONENTS = (1.0, 4 / 3, 2.0, 5.0)
NOMINAL_SHARES = (0.1, 0.4)
FRESH_POINTS = 10_000


@dataclass(frozen=True)
class Population:
    """Where the points come from, the kernel, and how the risk of a ball is known."""

    draw: Callable[[np.random.Generator, int], np.ndarray]
    kernel: dict[str, Any]
    slack: float
    exact: Callable[[LpSVDD, np.ndarray], float] | None = None
    ns: tuple[int, ...] = (30,)
    atoms: bool = False


def _gaussian(d: int, scale: float = 1.0):
    return lambda rng, n: scale * rng.normal(size=(n, d))


def _clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    return centres[rng.integers(0, 3, n)] + 0.5 * rng.normal(size=(n, 2))


def _radius_and_centre(model: LpSVDD, X: np.ndarray) -> tuple[float, np.ndarray]:
    return math.sqrt(max(model.radius_sq_, 0.0)), model.dual_coef_ @ X[model.support_]


def _chi_square(d: int, scale: float = 1.0):
    """Return the risk of a ball of the linear kernel for scale * N(0, I) in d dimensions."""

    def risk(model: LpSVDD, X: np.ndarray) -> float:
        radius, centre = (part / scale for part in _radius_and_centre(model, X))
        return float(ncx2.sf(radius**2, d, centre @ centre))

    return risk


def _student(model: LpSVDD, X: np.ndarray) -> float:
    """Return the risk of an interval for Student's distribution with 2 degrees of freedom."""
    radius, (centre,) = _radius_and_centre(model, X)
    return float(t.cdf(centre - radius, 2) + t.sf(centre + radius, 2))


def _over_atoms(atoms: np.ndarray, probabilities: np.ndarray):
    return lambda model, X: float(probabilities[model.predict(atoms) < 0].sum())


def _lattice() -> tuple[np.ndarray, np.ndarray]:
    """Return N(0, I) rounded to integers: atoms in [-8, 8]^2 with their probabilities."""
    side = np.arange(-8, 9)
    mass = norm.cdf(side + 0.5) - norm.cdf(side - 0.5)
    atoms = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2).astype(float)
    return atoms, np.outer(mass, mass).ravel()


COIN = np.array([[-1.0], [0.0], [1.0]]), np.array([0.3, 0.4, 0.3])
POPULATIONS = {
    "Gaussian": Population(_gaussian(2), {"gamma": 0.3}, 0.03, ns=(30, 100)),
    "clusters": Population(_clusters, {"gamma": 0.5}, 0.03),
    "Student 1.5": Population(
        lambda rng, n: rng.standard_t(1.5, size=(n, 2)), {"gamma": 0.1}, 0.03, ns=(30, 100)
    ),
    "Gaussian, d = 50": Population(_gaussian(50), {"gamma": 0.01}, 0.03),
    "Gaussian, linear": Population(_gaussian(2), {"kernel": "linear"}, 1.0, _chi_square(2)),
    "Gaussian, d = 100, linear": Population(
        _gaussian(100, 0.1), {"kernel": "linear"}, 0.05, _chi_square(100, 0.1)
    ),
    "Student 2, linear": Population(
        lambda rng, n: rng.standard_t(2, size=(n, 1)), {"kernel": "linear"}, 5.0, _student
    ),
    "lattice": Population(
        lambda rng, n: np.round(rng.normal(size=(n, 2))), {"gamma": 0.3}, 0.03,
        _over_atoms(*_lattice()), ns=(30, 100), atoms=True,
    ),
    "coin": Population(
        lambda rng, n: COIN[0][rng.choice(3, size=n, p=COIN[1])], {"kernel": "linear"}, 0.1,
        _over_atoms(*COIN), atoms=True,
    ),
}  # fmt: skip


def cost_of_share(p: float, nu: float, n: int, slack: float) -> float:
    """Return C = 1 / (p nu n s^(p-1))."""
    return 1.0 / (p * nu * n * slack ** (p - 1.0))


def fit_ball(X: np.ndarray, **options: Any) -> LpSVDD:
    """Fit a ball; that a small C may leave R^2 <= 0 is known here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="radius_sq_")
        return LpSVDD(**options).fit(X)


def true_risk(model: LpSVDD, population: Population, Z: np.ndarray | None, Kz=None) -> float:
    """Return P(rejected), exact or as the share of the fresh points Z (Kz: their kernel values)."""
    if population.exact is not None:
        return population.exact(model, model.X_fit_)
    if Kz is None:
        return float(np.mean(model.predict(Z) < 0))
    rows = np.take(Kz, model.support_, axis=1)
    d = squared_distances(rows, model.dual_coef_, np.ones(len(Kz)), model.norm_sq_)
    return float(np.mean(d > model.radius_sq_))


def repetition_stream(*key: int) -> np.random.Generator:
    """Return a stream of its own for every repetition."""
    return np.random.default_rng([REJECTION_SEED, *key])


# -- 1. coverage ---------------------------------------------------------------------------------


def sample_rows(name: str, n: int, number: int) -> list[Row]:
    """Return the rows of one sample, one for each p and C."""
    population = POPULATIONS[name]
    rng = repetition_stream(1, list(POPULATIONS).index(name), n, number)
    X = population.draw(rng, n)
    Kz = None
    if population.exact is None:
        Kz = kernel_matrix(population.draw(rng, FRESH_POINTS), X, **population.kernel)
    rows = []
    for p, nu in product(RISK_EXPONENTS, NOMINAL_SHARES):
        C = cost_of_share(p, nu, n, population.slack)
        model = fit_ball(X, p=p, C=C, **population.kernel)
        risk = true_risk(model, population, None, Kz)
        points = determining_points(model, density=not population.atoms)
        row = {
            "population": name, "n": n, "p": p, "nu": nu, "C": C, "k": points.high,
            "two_counts": points.low < points.high, "risk": risk, "radius_sq": model.radius_sq_,
        }  # fmt: skip
        for beta in BETAS:
            low, high = points.risk(beta)
            row |= {f"below_{beta:g}": risk < low, f"above_{beta:g}": risk > high}
            row |= {"low": low, "high": high} if beta == BETAS[0] else {}
        continuous, _ = rejection_risk(points.high, n, BETAS[0])
        rows.append(row | {"below_without_ties": risk < continuous})
    return rows


@dataclass(frozen=True)
class Samples(Named):
    """A task of ``coverage``: samples of one size from a population."""

    population: str
    n: int
    repetitions: int


@study(
    "Does the interval for the risk of rejection cover as proved?",
    name="rejection_coverage",
    tasks=lambda names, trials: [
        Samples(name, n, trials) for name, one in POPULATIONS.items() for n in one.ns
    ],
    names=(),
    trials=1000,
    parameters={"master_seed": REJECTION_SEED},
)
def coverage(task: Samples) -> list[Row]:
    """Return one row for each p and C: shares of misses and means over the repetitions.

    ``below_x`` and ``above_x`` are the shares of repetitions with the risk below and above the
    interval for beta = x; ``below_without_ties`` is what the lower end for continuous
    distributions would give at beta = 0.05.
    """
    name, n, one = task.population, task.n, POPULATIONS[task.population]
    rows = pd.DataFrame(row for k in range(task.repetitions) for row in sample_rows(name, n, k))
    table = rows.groupby(["population", "n", "p", "nu", "C"], sort=False).mean().reset_index()
    fresh = FRESH_POINTS if one.exact is None else 0
    return as_rows(table.assign(atoms=one.atoms, fresh=fresh, repetitions=task.repetitions))


# -- 2. the twenty data sets ----------------------------------------------------------------------

BOUND_MARGINS = (0.05, 0.1, 0.2, 0.5, 1.0)
FALSE_ALARMS = 0.1  # of the conformal threshold
DATA_SETTINGS = ((1.0, 0.1), (4 / 3, 0.1), (2.0, 0.1))
MOST, ASIDE, SLACK, TEST_LEVEL = 500, 0.2, 0.03, 0.99


def clopper_pearson(k: int, n: int, level: float) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability seen k times in n trials."""
    low, high = binomtest(k, n).proportion_ci(level, method="exact")
    return float(low), float(high)


@study(
    "Does the interval for the risk of rejection agree with held-out targets?",
    name="rejection_datasets",
    trials=20,
    parameters={
        "settings": DATA_SETTINGS, "most": MOST, "aside": ASIDE, "slack": SLACK,
        "level": TEST_LEVEL, "beta": BETAS[0], "master_seed": REJECTION_SEED,
        "false_alarms": FALSE_ALARMS, "lower_end": "strictly outside, 1e-13",
    },
)  # fmt: skip
def datasets_job(task: Task) -> list[Row]:
    """Train on one random half of the targets, measure the rejection rate on the other.

    ``preparation`` is learnt from the part "aside", which stays in training and is not counted,
    or from "all" training points, as it is commonly done. The columns with ``half_`` are about a
    ball of half of the training points: the Clopper-Pearson interval from the others, and the test
    points it rejects; ``conformal_rejected`` are those beyond its conformal threshold.
    """
    rng, beta = repetition_stream(4, int(task.dataset[1:]), task.trial), BETAS[0]
    data = datasets.load(task.dataset)
    targets = rng.permutation(np.flatnonzero(data.y == 1))
    train, test = np.split(targets, [min(MOST, len(targets) // 2)])
    aside, half = train[: max(2, round(ASIDE * len(train)))], len(train) // 2
    rows = []

    def rejected(model: LpSVDD, points: np.ndarray) -> int:
        return int((model.predict(points) < 0).sum())

    for preparation, used in (("aside", aside), ("all", train)):
        steps = preprocessor().fit(data.X[used], data.y[used])
        X, Z = steps.transform(data.X[train]), steps.transform(data.X[test])
        gamma = rbf_gamma(half_mean_distance(X[: len(used)]))
        counted = np.arange(len(train)) >= len(aside) if preparation == "aside" else None
        for p, nu in DATA_SETTINGS:
            C = cost_of_share(p, nu, len(train), SLACK)
            model = fit_ball(X, p=p, C=C, gamma=gamma)
            points = determining_points(model, counted=counted)
            low, high = points.risk(beta)
            found = rejected(model, Z)
            test_low, test_high = clopper_pearson(found, len(test), TEST_LEVEL)
            part = fit_ball(X[:half], p=p, C=C, gamma=gamma)  # holds all that is aside
            held = clopper_pearson(rejected(part, X[half:]), len(train) - half, 1 - beta)
            half_rejected = rejected(part, Z)
            part.rethreshold(X[half:], false_alarm_rate=FALSE_ALARMS)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                corrected = bound_of(model, margin=BOUND_MARGINS, delta=beta, event="error").total
            rows.append({
                "dataset": task.dataset, "trial": task.trial, "preparation": preparation,
                "p": p, "C": C, "n_train": len(train), "n": points.n, "k": points.high,
                "k_low": points.low, "low": low, "high": high, "n_test": len(test),
                "rejected": found, "test_low": test_low, "test_high": test_high,
                "disagrees": bool(low > test_high or high < test_low),
                "corrected": corrected, "gap": model.duality_gap_, "half_low": held[0],
                "half_high": held[1], "half_rejected": half_rejected,
                "conformal_rejected": rejected(part, Z),
            })  # fmt: skip
    return rows
