r"""Do the error bounds hold, and how loose are they? Simulation with known distributions.

Targets are N(0, I) in the plane. In the setting with negatives a pair is a target with probability
0.8 and otherwise an outlier, uniform on [-4, 4]^2. The kernel is Gaussian with gamma = 0.1 and the
cost is c = 0.1, both fixed before any data are drawn, as the theorems ask. The probabilities on
the left of the bounds are measured on a large test sample that no repetition trains on.

The theorems speak of every centre in a ball at once. So beyond FIT_AT_MOST training points the
model is fitted to the first FIT_AT_MOST of them, and its slacks are taken on all n.

    repetition   one training sample: one row for every p and margin
    coverage     the share of repetitions in which a bound held        -> bound_coverage.csv
    terms        term by term, and the p that minimises each quantity  -> bound_terms.csv

A repetition is a task of the runner; ``coverage`` and ``terms`` summarise the rows of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from lpsvdd.bounds import error_bound, margin_loss, rademacher, trace_bound
from lpsvdd.kernels import kernel_matrix, squared_distances
from lpsvdd.solver import solve
from replication.paper import EXPONENTS, SETTINGS
from replication.runner import Row
from replication.studies.study import Named, study

GAMMA, COST, TARGET_SHARE, DELTA = 0.1, 0.1, 0.8, 0.05
FIT_AT_MOST = 200
TEST_SEED, MASTER_SEED, N_TEST, N_DRAWS = 20_000_001, 6, 20_000, 200
REPETITIONS = 200
MARGINS = (0.05, 0.2, 0.5, 1.0)
COVERAGE_SIZES, COVERAGE_EXPONENTS = (50, 100, 200, 6400), (1.0, 4 / 3, 2.0, 5.0)
TERMS_SIZE, TERMS_EXPONENTS = 200, (1.0, *EXPONENTS)
# What the p-study minimises: the two bounds, the probability they bound, and three true errors.
MINIMISED = ("corrected", "paper", "violation", "error", "balanced_error", "auc_loss")


def parameters(*names: str) -> Row:
    """Return what decides the numbers of a table: the constants of all of them, and its own."""
    common = ("GAMMA", "COST", "TARGET_SHARE", "DELTA", "FIT_AT_MOST", "MARGINS", "N_TEST")
    common += ("TEST_SEED", "MASTER_SEED")
    return {name.lower(): globals()[name] for name in (*common, *names)}


@dataclass(frozen=True)
class Sample(Named):
    """One training sample of the simulation."""

    setting: str
    n: int
    seed: int


def samples(settings: Sequence[str], repetitions: int, *, ns: Sequence[int]) -> list[Sample]:
    """Return every repetition of every setting and size; different ones never share a seed."""
    if unknown := set(settings) - set(SETTINGS):
        raise ValueError(f"the simulation has the settings {SETTINGS}, not {sorted(unknown)}")
    return [
        Sample(setting, n, seed)
        for setting, n in product(settings, ns)
        for seed in seeds(repetitions, stream=2 * n + (setting == "negatives"))
    ]


def draw_pairs(negatives: bool, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n independent pairs (x, y); without negatives every y is +1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.ones(n)
    if negatives:
        y[rng.random(n) >= TARGET_SHARE] = -1
        X[y < 0] = outliers(int((y < 0).sum()), rng)
        y[0], X[0] = 1, rng.normal(size=2)  # a training sample needs one target
    return X, y


def outliers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n points uniform on [-4, 4]^2."""
    return rng.uniform(-4, 4, size=(n, 2))


@lru_cache(maxsize=4)
def _test_sample(negatives: bool, n_test: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return test pairs, and a separate sample of outliers that measures acceptance."""
    X, y = draw_pairs(negatives, n_test, TEST_SEED)
    return X, y, outliers(n_test, np.random.default_rng(TEST_SEED + 1))


def repetition(
    sample: Sample,
    *,
    ps: Sequence[float],
    margins: Sequence[float] = MARGINS,
    n_test: int = N_TEST,
    n_draws: int = 0,
) -> list[Row]:
    """Fit every p to one training sample; one row for each p and margin.

    violation = P[y (f - R^2) > margin], risk = E A(y (f - R^2)), error = P[y (f - R^2) > 0].
    n_draws > 0 adds the Monte-Carlo complexity of the linear class with its trace bound, and the
    errors against outliers: balanced_error at the threshold R^2, auc_loss over all thresholds.
    """
    negatives, n, seed = sample.setting == "negatives", sample.n, sample.seed
    X, y = draw_pairs(negatives, n, seed)
    X_test, y_test, X_out = _test_sample(negatives, n_test)
    m = min(n, FIT_AT_MOST)
    K = kernel_matrix(X[:m], gamma=GAMMA)
    solutions = [solve(K, y[:m], p=p, c=COST) for p in ps]
    beta = np.column_stack([y[:m] * solution.alpha for solution in solutions])
    norms_sq = np.einsum("ij,ij->j", beta, K @ beta)

    def distances(Z: np.ndarray) -> np.ndarray:
        Kz = kernel_matrix(Z, X[:m], gamma=GAMMA)
        return squared_distances(Kz, beta, np.ones(len(Z)), norms_sq)

    f_train, f_test = distances(X), distances(X_test)
    further = (
        _further_measures(K, f_test[y_test > 0], distances(X_out), solutions, n_draws, seed)
        if n_draws
        else [{}] * len(ps)
    )
    rows = []
    for j, (p, solution) in enumerate(zip(ps, solutions, strict=True)):
        radius_sq = solution.radius_sq
        excess_train, excess = y * (f_train[:, j] - radius_sq), y_test * (f_test[:, j] - radius_sq)
        norm = float(np.sqrt(norms_sq[j]))
        common = {
            "setting": sample.setting, "n": n, "p": p, "seed": seed, "norm": norm,
            "radius_sq": radius_sq, "error": float(np.mean(excess > 0)), **further[j],
        }  # fmt: skip
        options = {
            "p": p, "slack": np.maximum(excess_train, 0), "K": np.ones(n), "B": None,
            "B_kappa": 1.0, "delta": DELTA, "radius_sq": radius_sq, "norm": norm,
            "negatives": negatives,
        }  # fmt: skip
        for margin in margins:
            corrected, paper = (
                error_bound(**options, margin=margin, form=form) for form in ("corrected", "paper")
            )
            violation = float(np.mean(excess > margin))
            parts = ("empirical", "linear", "offset", "complexity", "confidence")
            rows.append({
                **common, "margin": margin, "violation": violation,
                "risk": float(margin_loss(excess, p=p, margin=margin).mean()),
                **{name: getattr(corrected, name) for name in parts},
                "corrected": corrected.total, "paper_empirical": paper.empirical,
                "paper_complexity": paper.complexity, "paper": paper.total,
                "covered_corrected": violation <= corrected.total,
                "covered_paper": violation <= paper.total,
            })  # fmt: skip
    return rows


def _further_measures(K, f_targets, f_outliers, solutions, n_draws, seed) -> list[Row]:
    """Return for each solution its errors against outliers, and terms of the linear class."""
    linear = {
        "monte_carlo": float(rademacher(K, 1.0, n_draws=n_draws, random_state=seed)),
        "trace_bound": float(trace_bound(K, 1.0)),
    }
    is_outlier = np.repeat([0.0, 1.0], [len(f_targets), len(f_outliers)])
    rows = []
    for inside, outside, found in zip(f_targets.T, f_outliers.T, solutions, strict=True):
        errors = np.mean(inside > found.radius_sq) + np.mean(outside <= found.radius_sq)
        area = roc_auc_score(is_outlier, np.r_[inside, outside])
        rows.append({"balanced_error": float(errors) / 2, "auc_loss": float(1 - area)} | linear)
    return rows


def seeds(count: int, *, stream: int) -> list[int]:
    """Return the seeds of the repetitions; different streams never share one."""
    state = np.random.SeedSequence([MASTER_SEED, stream]).generate_state(count)
    return [int(value) for value in state]


def coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each setting, n, p, margin: how often the bounds held, and how far off.

    deviation_ratio_max is the largest (risk - empirical) / (complexity + confidence): the theorem
    says that it is at most one with probability 1 - delta.
    """
    ratio = (rows.risk - rows.empirical) / (rows.complexity + rows.confidence)
    rows = rows.assign(
        deviation_ratio=ratio, nonvacuous_corrected=rows.corrected < 1,
        nonvacuous_paper=rows.paper < 1,
    )  # fmt: skip
    means = ("violation", "risk", "empirical", "linear", "offset", "confidence", "corrected",
             "paper", "norm", "radius_sq")  # fmt: skip
    shares = ("coverage_corrected", "coverage_paper", "nonvacuous_corrected", "nonvacuous_paper")
    columns = {name: (name, "mean") for name in means}
    columns |= {name: (name.replace("coverage", "covered"), "mean") for name in shares}
    columns |= {f"{n}_max": (n, "max") for n in ("violation", "deviation_ratio", "norm")}
    groups = rows.groupby(["setting", "n", "p", "margin"], sort=False)
    return twelve_digits(groups.agg(**columns, repetitions=("seed", "size")).reset_index())


def terms(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of every term for each setting, p, margin, and how often p is best.

    best_X is the share of repetitions in which this p minimises X (ties go to the smallest p, which
    matters for violation: it is 0 for many p at large margins). agree_X_Y, the same in all
    rows of a setting and margin, is the share in which bound X and true error Y pick the same p.
    """
    keys = ["setting", "n", "margin"]
    groups = rows.groupby([*keys, "p"], sort=False)
    numbers = rows.columns.difference([*keys, "p", "seed"])
    table = groups[list(numbers)].mean().assign(repetitions=groups.size())
    chosen = {
        name: rows.loc[rows.groupby([*keys, "seed"])[name].idxmin()]
        .set_index([*keys, "seed"])["p"]
        .sort_index()
        for name in MINIMISED
    }
    for name, picks in chosen.items():
        shares = picks.groupby(keys).value_counts(normalize=True)
        table[f"best_{name}"] = shares.reindex(table.index).fillna(0.0)
    table = table.reset_index()
    for bound, truth in product(MINIMISED[:2], MINIMISED[2:]):
        same = (chosen[bound] == chosen[truth]).groupby(keys).mean().rename("share")
        table[f"agree_{bound}_{truth}"] = table.join(same, on=keys)["share"]
    return twelve_digits(table)


def twelve_digits(table: pd.DataFrame) -> pd.DataFrame:
    """Keep twelve digits: what is beyond them belongs to the processor."""
    numbers = table.select_dtypes("float").columns
    return table.assign(**{name: table[name].map(lambda v: float(f"{v:.12g}")) for name in numbers})


study(
    "In which share of the repetitions does each error bound hold?",
    name="bound_coverage",
    tasks=partial(samples, ns=COVERAGE_SIZES),
    names=SETTINGS,
    trials=REPETITIONS,
    parameters=parameters("COVERAGE_SIZES", "COVERAGE_EXPONENTS"),
    finish=coverage,
)(partial(repetition, ps=COVERAGE_EXPONENTS))
study(
    "How large is each term of the bounds, and which p minimises them?",
    name="bound_terms",
    tasks=partial(samples, ns=(TERMS_SIZE,)),
    names=SETTINGS,
    trials=REPETITIONS,
    parameters=parameters("TERMS_SIZE", "TERMS_EXPONENTS", "N_DRAWS"),
    finish=terms,
)(partial(repetition, ps=TERMS_EXPONENTS, n_draws=N_DRAWS))
