r"""Does the risk of rejection lie in its interval? Simulation with known populations.

The plan, with questions and decision rules, is ``plans/rejection.md``. Kernel and costs are fixed
before any point is drawn. The cost follows from a nominal share nu and a slack s that is typical
for the population: if nu n points lie outside by s, stationarity asks for

    C = 1 / (p nu n s^(p-1)).

The risk of a fitted ball is exact where it can be had (a tail of a noncentral chi-square or of
Student's distribution, a sum over atoms), else the share of fresh points rejected.

    coverage     every population, n, p, C: misses on both sides       -> rejection_coverage.csv
    conditions   what happens where the theorem does not apply         -> rejection_conditions.csv
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ncx2, norm, t

from lpsvdd import LpSVDD
from lpsvdd.bounds import cost_for_rate, determining_points, rejection_risk
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from replication import weights
from replication.store import Row
from replication.studies.study import Named, as_rows, study

MASTER_SEED = 15
BETAS = (0.05, 0.5)
EXPONENTS = (1.0, 4 / 3, 2.0, 5.0)
SHARES = (0.1, 0.4)
FRESH = 10_000
RATE = 0.3  # of cost_for_rate
SETTINGS = 12  # among which the best is taken

Rows = list[dict[str, Any]]


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


def _centre(model: LpSVDD, X: np.ndarray) -> np.ndarray:
    return model.dual_coef_ @ X[model.support_]


def _chi_square(d: int, scale: float = 1.0):
    """Risk of a ball of the linear kernel for scale * N(0, I) in d dimensions."""

    def risk(model: LpSVDD, X: np.ndarray) -> float:
        radius_sq, centre = max(model.radius_sq_, 0.0), _centre(model, X)
        return float(ncx2.sf(radius_sq / scale**2, d, centre @ centre / scale**2))

    return risk


def _student(model: LpSVDD, X: np.ndarray) -> float:
    """Risk of an interval for Student's distribution with 2 degrees of freedom."""
    centre, radius = _centre(model, X)[0], math.sqrt(max(model.radius_sq_, 0.0))
    return float(t.cdf(centre - radius, 2) + t.sf(centre + radius, 2))


def _over_atoms(atoms: np.ndarray, probabilities: np.ndarray):
    return lambda model, X: float(probabilities[model.predict(atoms) < 0].sum())


def _lattice() -> tuple[np.ndarray, np.ndarray]:
    """N(0, I) rounded to integers: atoms in [-8, 8]^2 with their probabilities."""
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


def cost(p: float, nu: float, n: int, slack: float) -> float:
    """C = 1 / (p nu n s^(p-1))."""
    return 1.0 / (p * nu * n * slack ** (p - 1.0))


def fit(X: np.ndarray, **options: Any) -> LpSVDD:
    """A fitted ball; that a small C may leave R^2 <= 0 is known here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="radius_sq_")
        return LpSVDD(**options).fit(X)


def true_risk(model: LpSVDD, population: Population, Z: np.ndarray | None, Kz=None) -> float:
    """P(rejected): exact, or the share of the fresh points Z (Kz: their kernel values)."""
    if population.exact is not None:
        return population.exact(model, model.X_fit_)
    if Kz is None:
        return float(np.mean(model.predict(Z) < 0))
    rows = np.take(Kz, model.support_, axis=1)
    d = squared_distances(rows, model.dual_coef_, np.ones(len(Kz)), model.norm_sq_)
    return float(np.mean(d > model.radius_sq_))


def generator(*key: int) -> np.random.Generator:
    """A stream of its own for every repetition."""
    return np.random.default_rng([MASTER_SEED, *key])


# -- 1. coverage ---------------------------------------------------------------------------------


def repetition(name: str, n: int, number: int) -> Rows:
    """One sample: a row for each p and C."""
    population = POPULATIONS[name]
    rng = generator(1, list(POPULATIONS).index(name), n, number)
    X = population.draw(rng, n)
    Kz = None
    if population.exact is None:
        Kz = kernel_matrix(population.draw(rng, FRESH), X, **population.kernel)
    rows = []
    for p in EXPONENTS:
        for nu in SHARES:
            C = cost(p, nu, n, population.slack)
            model = fit(X, p=p, C=C, **population.kernel)
            risk = true_risk(model, population, None, Kz)
            points = determining_points(model, density=not population.atoms)
            row = {
                "population": name, "n": n, "p": p, "nu": nu, "C": C, "k": points.high,
                "two_counts": points.low < points.high, "risk": risk,
                "radius_sq": model.radius_sq_,
            }  # fmt: skip
            for beta in BETAS:
                low, high = points.risk(beta)
                row |= {f"below_{beta:g}": risk < low, f"above_{beta:g}": risk > high}
                if beta == BETAS[0]:
                    row |= {"low": low, "high": high}
            continuous, _ = rejection_risk(points.high, n, BETAS[0])
            row["below_without_ties"] = risk < continuous
            rows.append(row)
    return rows


@dataclass(frozen=True)
class Samples(Named):
    """A task of both studies: samples of one size from a population (and one p, or all of them)."""

    population: str
    n: int
    repetitions: int
    p: float | None = None


def coverage_tasks(names: list[str], trials: int) -> list[Samples]:
    """One task for each population and size; ``trials`` are repetitions."""
    return [Samples(name, n, trials) for name, one in POPULATIONS.items() for n in one.ns]


@study(
    "Does the interval for the risk of rejection cover as proved?",
    name="rejection_coverage",
    tasks=coverage_tasks,
    names=(),
    trials=1000,
    parameters={"master_seed": MASTER_SEED},
)
def coverage(task: Samples) -> list[Row]:
    """One row for each p and C: shares of misses and means over the repetitions.

    ``below_x`` and ``above_x`` are the shares of repetitions with the risk below and above the
    interval for beta = x; ``below_without_ties`` is what the lower end for continuous
    distributions would give at beta = 0.05.
    """
    name, n = task.population, task.n
    numbers = range(task.repetitions)
    rows = pd.DataFrame([row for number in numbers for row in repetition(name, n, number)])
    table = rows.groupby(["population", "n", "p", "nu", "C"], sort=False).mean().reset_index()
    return as_rows(
        table.assign(
            atoms=POPULATIONS[name].atoms,
            fresh=FRESH if POPULATIONS[name].exact is None else 0,
            repetitions=task.repetitions,
        )
    )


# -- 2. conditions -------------------------------------------------------------------------------

CONDITIONS = {
    "fixed before": True,
    "width from the sample": False,
    "width and scaling from the sample": False,
    "width from a tenth, not counted": True,
    "C from the sample": False,
    "best of 12, beta": False,
    "best of 12, beta/12": True,
    "weights from the point": True,
    "weights from the sample": False,
    "labelled outliers": True,
    "cost_for_rate": True,
    "cost_for_rate, beta undivided": False,
}
"""Variants and whether the theorem covers them."""


def condition(name: str, p: float, n: int, number: int) -> Rows:
    """One sample of a population under all variants."""
    population = POPULATIONS[name]
    rng = generator(2, list(POPULATIONS).index(name), n, round(60 * p), number)
    X, Z = population.draw(rng, n), population.draw(rng, FRESH)
    fixed = {"p": p, "C": cost(p, 0.2, n, population.slack)}
    beta = BETAS[0]
    rows = []

    def add(variant, model, Z=Z, beta=beta, counted=None) -> None:
        points = determining_points(model, counted=counted, density=not population.atoms)
        low, high = points.risk(beta)
        rows.append(_row(variant, true_risk(model, population, Z), points, low, high))

    add("fixed before", fit(X, **fixed, **population.kernel))
    add("width from the sample", fit(X, **fixed))
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    add(
        "width and scaling from the sample",
        fit((X - mean) / deviation, **fixed),
        Z=(Z - mean) / deviation,
    )
    gamma = rbf_gamma(half_mean_distance(X[: n // 10]))
    add(
        "width from a tenth, not counted",
        fit(X, **fixed, gamma=gamma),
        counted=np.arange(n) >= n // 10,
    )
    if p > 1.0:
        add("C from the sample", _with_share(X, 0.2, p=p, **population.kernel))
    candidates = [
        fit(X, p=other, C=cost(other, nu, n, population.slack), **population.kernel)
        for other in EXPONENTS[:3]
        for nu in np.linspace(0.05, 0.5, SETTINGS // 3)
    ]
    best = min(candidates, key=lambda model: determining_points(model).high)
    add("best of 12, beta", best)
    add("best of 12, beta/12", best, beta=beta / SETTINGS)
    for variant, w in (
        ("weights from the point", 0.5 + np.abs(X[:, 0])),
        ("weights from the sample", 0.1 + weights.density(X)),
    ):
        add(variant, LpSVDD(**fixed, **population.kernel).fit(X, sample_weight=w))
    outliers = np.vstack([X, rng.uniform(-4.0, 4.0, size=(20, 2))])
    labels = np.repeat([1, -1], [n, 20])
    add("labelled outliers", LpSVDD(**fixed, **population.kernel).fit(outliers, labels))
    costs = [cost(p, nu, n, population.slack) for nu in np.geomspace(0.01, 1.0, SETTINGS)]
    for variant, allowed in (
        ("cost_for_rate", beta),
        ("cost_for_rate, beta undivided", min(beta * SETTINGS, 0.999)),
    ):
        ball = LpSVDD(p=p, **population.kernel)
        try:
            choice = cost_for_rate(ball, X, RATE, beta=allowed, costs=costs)
        except ValueError:
            continue  # this sample gives no guarantee; the number of rows says how many do
        risk = true_risk(choice.model, population, Z)
        rows.append(_row(variant, risk, choice.points, 0.0, RATE))
    return [{"population": name, "n": n, "p": p, **row} for row in rows]


def _row(variant, risk, points, low, high) -> dict[str, Any]:
    return {
        "variant": variant, "risk": risk, "k": points.high, "low": low, "high": high,
        "below": risk < low, "above": risk > high,
    }  # fmt: skip


def _with_share(X: np.ndarray, share: float, **options: Any) -> LpSVDD:
    """The ball whose C was searched so that about this share of X lies outside."""
    lowest, highest = 1e-6, 1e6
    for _ in range(25):
        C = math.sqrt(lowest * highest)
        model = fit(X, C=C, **options)
        outside = float(np.mean(model.predict(X) < 0))
        if outside == share:
            break
        lowest, highest = (C, highest) if outside > share else (lowest, C)
    return model


def condition_tasks(names: list[str], trials: int) -> list[Samples]:
    """The Gaussian in the plane with p = 1 and 2; ``trials`` are repetitions."""
    return [Samples("Gaussian", 100, trials, p) for p in (1.0, 2.0)]


@study(
    "What happens to the interval where a condition of the theorem is not met?",
    name="rejection_conditions",
    tasks=condition_tasks,
    names=(),
    trials=1000,
    parameters={"master_seed": MASTER_SEED},
)
def conditions(task: Samples) -> list[Row]:
    """One row for each variant: shares of misses and means."""
    rows = [
        row
        for number in range(task.repetitions)
        for row in condition(task.population, task.p, task.n, number)
    ]
    groups = pd.DataFrame(rows).groupby(["population", "n", "p", "variant"], sort=False)
    table = groups.mean().assign(count=groups.size()).reset_index()
    return as_rows(
        table.assign(proved=table["variant"].map(CONDITIONS), repetitions=task.repetitions)
    )
