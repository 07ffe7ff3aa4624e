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
    sizes        the n from which a bound is below 1                   -> bound_samplesize.csv
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from lpsvdd.bounds import margin_loss, rademacher, sample_size, trace_bound
from lpsvdd.bounds.theorems import bound_from_diagonal
from lpsvdd.kernels import kernel_matrix, squared_distances
from lpsvdd.solver import solve
from replication.paper import EXPONENTS
from replication.provenance import package_versions

GAMMA, COST, TARGET_SHARE, DELTA = 0.1, 0.1, 0.8, 0.05
FIT_AT_MOST = 200
TEST_SEED, MASTER_SEED = 20_000_001, 6
# What the p-study minimises: the two bounds, the probability they bound, and three true errors.
CRITERIA = ("corrected", "paper", "violation", "error", "balanced_error", "auc_loss")


def draw(negatives: bool, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n independent pairs (x, y); without negatives every y is +1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.ones(n)
    if negatives:
        y[rng.random(n) >= TARGET_SHARE] = -1
        X[y < 0] = outliers(int((y < 0).sum()), rng)
        y[0], X[0] = 1, rng.normal(size=2)  # a training sample needs one target
    return X, y


def outliers(n: int, rng: np.random.Generator) -> np.ndarray:
    """n points uniform on [-4, 4]^2."""
    return rng.uniform(-4, 4, size=(n, 2))


@lru_cache(maxsize=4)
def _test_sample(negatives: bool, n_test: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Test pairs, and a separate sample of outliers that measures acceptance in both settings."""
    X, y = draw(negatives, n_test, TEST_SEED)
    return X, y, outliers(n_test, np.random.default_rng(TEST_SEED + 1))


def repetition(
    *,
    negatives: bool,
    n: int,
    ps: Sequence[float],
    margins: Sequence[float],
    seed: int,
    n_test: int = 20_000,
    n_draws: int = 0,
) -> list[dict]:
    """Fit every p to one training sample; one row for each p and margin.

    violation = P[y (f - R^2) > margin], risk = E A(y (f - R^2)), error = P[y (f - R^2) > 0].
    n_draws > 0 adds the Monte-Carlo complexity of the linear class with its trace bound, and the
    errors against outliers: balanced_error at the threshold R^2, auc_loss over all thresholds.
    """
    X, y = draw(negatives, n, seed)
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
            "setting": "negatives" if negatives else "pure",
            "n": n,
            "p": p,
            "seed": seed,
            "norm": norm,
            "radius_sq": radius_sq,
            "error": np.mean(excess > 0),
            **further[j],
        }
        options = {
            "p": p,
            "slack": np.maximum(excess_train, 0),
            "diag": np.ones(n),
            "B": None,
            "B_kappa": 1.0,
            "delta": DELTA,
            "radius_sq": radius_sq,
            "norm": norm,
            "negatives": negatives,
        }
        for margin in margins:
            corrected = bound_from_diagonal(**options, margin=margin, form="corrected")
            paper = bound_from_diagonal(**options, margin=margin, form="paper")
            violation = np.mean(excess > margin)
            rows.append(
                {
                    **common,
                    "margin": margin,
                    "violation": violation,
                    "risk": margin_loss(excess, p=p, margin=margin).mean(),
                    "empirical": corrected.empirical,
                    "linear": corrected.linear,
                    "offset": corrected.offset,
                    "complexity": corrected.complexity,
                    "confidence": corrected.confidence,
                    "corrected": corrected.total,
                    "paper_empirical": paper.empirical,
                    "paper_complexity": paper.complexity,
                    "paper": paper.total,
                    "covered_corrected": violation <= corrected.total,
                    "covered_paper": violation <= paper.total,
                }
            )
    return rows


def _further_measures(K, f_targets, f_outliers, solutions, n_draws, seed) -> list[dict]:
    """One dictionary for each solution: errors against outliers, and the linear class."""
    mc = rademacher(K, 1.0, n_draws=n_draws, random_state=seed)
    is_outlier = np.r_[np.zeros(len(f_targets)), np.ones(len(f_outliers))]
    return [
        {
            "balanced_error": (
                np.mean(inside > solution.radius_sq) + np.mean(outside <= solution.radius_sq)
            )
            / 2,
            "auc_loss": 1 - roc_auc_score(is_outlier, np.r_[inside, outside]),
            "monte_carlo": float(mc),
            "trace_bound": trace_bound(K, 1.0),
        }
        for inside, outside, solution in zip(f_targets.T, f_outliers.T, solutions, strict=True)
    ]


def seeds(count: int, *, stream: int) -> list[int]:
    """Seeds of the repetitions; different streams never share one."""
    state = np.random.SeedSequence([MASTER_SEED, stream]).generate_state(count)
    return [int(value) for value in state]


def _collect(negatives: bool, n: int, repetitions: int, **options) -> pd.DataFrame:
    stream = 2 * n + int(negatives)
    bar = tqdm(
        seeds(repetitions, stream=stream),
        desc=f"n={n} negatives={negatives}",
        leave=False,
        disable=None,
    )
    return pd.DataFrame(
        [row for seed in bar for row in repetition(negatives=negatives, n=n, seed=seed, **options)]
    )


def coverage(
    *,
    ns: Iterable[int] = (50, 100, 200, 6400),
    ps: Sequence[float] = (1.0, 4 / 3, 2.0, 5.0),
    margins: Sequence[float] = (0.05, 0.2, 0.5, 1.0),
    repetitions: int = 200,
    n_test: int = 20_000,
) -> pd.DataFrame:
    """One row for each setting, n, p, margin: how often the bounds held, and how far off.

    deviation_ratio_max is the largest (risk - empirical) / (complexity + confidence): the theorem
    says that it is at most one with probability 1 - delta.
    """
    tables = []
    for negatives in (False, True):
        for n in ns:
            rows = _collect(negatives, n, repetitions, ps=ps, margins=margins, n_test=n_test)
            rows["deviation_ratio"] = (rows.risk - rows.empirical) / (
                rows.complexity + rows.confidence
            )
            groups = rows.groupby(["setting", "n", "p", "margin"], sort=False)
            mean = [
                "violation",
                "risk",
                "empirical",
                "linear",
                "offset",
                "confidence",
                "corrected",
                "paper",
                "norm",
                "radius_sq",
            ]
            table = groups[mean].mean()
            table["coverage_corrected"] = groups["covered_corrected"].mean()
            table["coverage_paper"] = groups["covered_paper"].mean()
            table["nonvacuous_corrected"] = groups["corrected"].agg(lambda v: np.mean(v < 1))
            table["nonvacuous_paper"] = groups["paper"].agg(lambda v: np.mean(v < 1))
            table["violation_max"] = groups["violation"].max()
            table["deviation_ratio_max"] = groups["deviation_ratio"].max()
            table["norm_max"] = groups["norm"].max()
            tables.append(table.reset_index())
    return _stamp(pd.concat(tables, ignore_index=True), repetitions=repetitions, n_test=n_test)


def terms(
    *,
    n: int = 200,
    ps: Sequence[float] = (1.0, *EXPONENTS),
    margins: Sequence[float] = (0.05, 0.2, 0.5, 1.0),
    repetitions: int = 200,
    n_test: int = 20_000,
) -> pd.DataFrame:
    """Mean of every term for each setting, p, margin, and how often this p is the best one.

    best_X is the share of repetitions in which this p minimises X (ties go to the smallest p, which
    matters for violation: it is 0 for many p at large margins). agree_X_Y, the same in all
    rows of a setting and margin, is the share in which bound X and true error Y pick the same p.
    """
    tables = []
    for negatives in (False, True):
        rows = _collect(
            negatives, n, repetitions, ps=ps, margins=margins, n_test=n_test, n_draws=200
        )
        keys = ["setting", "n", "margin"]
        numbers = rows.columns.difference([*keys, "p", "seed"])
        table = rows.groupby([*keys, "p"], sort=False)[list(numbers)].mean()
        chosen = {
            name: rows.loc[rows.groupby([*keys, "seed"])[name].idxmin()]
            .set_index([*keys, "seed"])["p"]
            .sort_index()
            for name in CRITERIA
        }
        for name, picks in chosen.items():
            shares = picks.groupby(keys).value_counts(normalize=True)
            table[f"best_{name}"] = shares.reindex(table.index).fillna(0.0)
        table = table.reset_index()
        for bound in CRITERIA[:2]:
            for truth in CRITERIA[2:]:
                same = (chosen[bound] == chosen[truth]).groupby(level="margin").mean()
                table[f"agree_{bound}_{truth}"] = table["margin"].map(same)
        tables.append(table)
    return _stamp(pd.concat(tables, ignore_index=True), repetitions=repetitions, n_test=n_test)


def sizes(
    *,
    ps: Sequence[float] = (1.0, *EXPONENTS),
    deltas: Sequence[float] = (0.05,),
    margins: Sequence[float] = (0.05, 0.1, 0.2, 0.5, 1.0),
    targets: Sequence[float] = (1.0, 0.5),
    empirical: float = 0.0,
) -> pd.DataFrame:
    """Smallest n with a bound below the target for a Gaussian kernel (B = B_kappa = 1).

    radius_sq = 0 is the best case of the printed bound; margin "grid" lets the bound choose among
    all the margins and pays for it. n is written in full up to 10^15 and as a float beyond.
    """
    rows = []
    for form in ("paper", "corrected"):
        for negatives in (False, True):
            for delta in deltas:
                for target in targets:
                    for p in ps:
                        for label, margin in [*((m, m) for m in margins), ("grid", list(margins))]:
                            n = sample_size(
                                p,
                                margin,
                                delta,
                                target,
                                form=form,
                                norm=1.0,
                                negatives=negatives,
                                empirical=empirical,
                            )
                            rows.append(
                                {
                                    "form": form,
                                    "setting": "negatives" if negatives else "pure",
                                    "p": p,
                                    "margin": label,
                                    "delta": delta,
                                    "target": target,
                                    "empirical": empirical,
                                    "radius_sq": 0.0,
                                    "n": n if n < 10**15 else f"{float(n):.6e}",
                                }
                            )
    return _stamp(pd.DataFrame(rows))


def _stamp(table: pd.DataFrame, **options: int) -> pd.DataFrame:
    """Add provenance columns: options, seed, versions."""
    kept = ("lpsvdd", "numpy", "scipy", "scikit-learn")
    versions = package_versions(kept)
    return table.assign(
        **options,
        master_seed=MASTER_SEED,
        versions="; ".join(f"{name} {versions[name]}" for name in kept if name in versions),
    )


def write_all(folder: Path) -> None:
    """Run everything and write the three tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in (("samplesize", sizes), ("coverage", coverage), ("terms", terms)):
        table = make()
        table.to_csv(folder / f"bound_{name}.csv", index=False, float_format="%.12g")


if __name__ == "__main__":
    write_all(Path("results"))
