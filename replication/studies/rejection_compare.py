r"""What is the interval for the risk of rejection worth? Other statements, p and c, real data.

The plan is ``plans/rejection.md``; the populations and the fixed costs are those of ``rejection``.

    compare    the interval beside other statements about a ball       -> rejection_compare.csv
    curves     risk, interval and both bounds against p and against c  -> rejection_curves.csv
    datasets   a job for each split of the twenty data sets            -> rejection_datasets.csv

``python -m replication run --all --study rejection_compare --save results`` makes its table.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import beta as beta_distribution
from tqdm import tqdm

from lpsvdd.bounds import bound_of, determining_points
from lpsvdd.kernels import half_mean_distance, rbf_gamma
from replication import datasets, paper
from replication.preprocessing import preprocessor
from replication.protocol import Task
from replication.store import Row
from replication.studies.rejection import (
    FRESH,
    MASTER_SEED,
    POPULATIONS,
    Rows,
    cost,
    fit,
    generator,
    true_risk,
)
from replication.studies.study import simulation, study

BETA = 0.05
MARGIN, MARGINS = 0.5, (0.05, 0.1, 0.2, 0.5, 1.0)
FALSE_ALARMS = 0.1  # of the conformal threshold
GAUSSIAN = POPULATIONS["Gaussian"]
CURVE_COST, CURVE_EXPONENTS = 0.1, (1.0, 4 / 3)
CURVE_COSTS = tuple(float(c) for c in np.logspace(-2, 2, 9))


def clopper_pearson(k: int, n: int, level: float) -> tuple[float, float]:
    """Two-sided interval for a probability seen k times in n independent trials."""
    tail = (1.0 - level) / 2.0
    low = beta_distribution.ppf(tail, k, n - k + 1) if k else 0.0
    high = beta_distribution.isf(tail, k + 1, n - k) if k < n else 1.0
    return float(low), float(high)


# -- 3. beside other statements ------------------------------------------------------------------


def statements(n: int, number: int, p: float = 4 / 3, nu: float = 0.1) -> Rows:
    """One sample; a row for each statement: its ends, and the risk of the ball it speaks of."""
    rng = generator(3, n, number)
    X, Z = GAUSSIAN.draw(rng, n), GAUSSIAN.draw(rng, FRESH)
    options = {"p": p, "C": cost(p, nu, n, GAUSSIAN.slack), **GAUSSIAN.kernel}
    model = fit(X, **options)
    risk, points = true_risk(model, GAUSSIAN, Z), determining_points(model)
    rows = []

    def add(statement: str, low: float, high: float, risk: float = risk) -> None:
        rows.append({"statement": statement, "low": low, "high": high, "risk": risk})

    add("risk of rejection", *points.risk(BETA))
    corrected = bound_of(model, margin=MARGINS, delta=BETA, event="error").total
    add("corrected bound", 0.0, corrected)
    # Its event is another one, to lie outside by more than the margin.
    beyond = float(np.mean(-model.score_samples(Z) - model.radius_sq_ > MARGIN))
    printed = bound_of(model, margin=MARGIN, delta=BETA, form="paper").total
    add("paper's bound", 0.0, printed, beyond)
    add("leave-one-out", points.high / n, points.high / n)
    for share in (2, 5):
        held = n // share
        part = fit(X[held:], **options)
        rejected = int((part.predict(X[:held]) < 0).sum())
        ends = clopper_pearson(rejected, held, 1 - BETA)
        add(f"held out 1/{share}", *ends, true_risk(part, GAUSSIAN, Z))
        if share == 2:
            part.rethreshold(X[:held], false_alarm_rate=FALSE_ALARMS)
            add("conformal threshold", 0.0, FALSE_ALARMS, true_risk(part, GAUSSIAN, Z))
    return [{"n": n, **row} for row in rows]


@simulation(
    "What is the interval worth beside other statements about a ball?",
    name="rejection_compare",
    master_seed=MASTER_SEED,
)
def compare(
    ns: Sequence[int] = (50, 200, 1000), repetitions: Sequence[int] = (500, 500, 100)
) -> pd.DataFrame:
    """One row for each n and statement: mean ends and length, coverage, error of the middle.

    ``smaller`` is the share of repetitions in which the upper end of the risk of rejection is
    below that of this statement.
    """
    tables = []
    for n, count in zip(ns, repetitions, strict=True):
        bar = tqdm(range(count), desc=f"compare n={n}", leave=False, disable=None)
        rows = pd.DataFrame([{**row, "number": i} for i in bar for row in statements(n, i)])
        own = rows[rows["statement"] == "risk of rejection"].set_index("number")["high"]
        rows = rows.assign(
            length=rows["high"].clip(upper=1.0) - rows["low"],
            covered=rows["risk"].between(rows["low"], rows["high"]),
            error=((rows["low"] + rows["high"]) / 2 - rows["risk"]).abs(),
            smaller=rows["number"].map(own) < rows["high"],
        )
        groups = rows.groupby(["n", "statement"], sort=False)
        means = groups[["low", "high", "length", "risk", "covered", "error", "smaller"]].mean()
        means = means.assign(risk_sd=groups["risk"].std(), repetitions=count)
        tables.append(means.reset_index())
    return pd.concat(tables, ignore_index=True)


# -- 5. against p and against c ------------------------------------------------------------------


def curve(n: int, number: int) -> Rows:
    """One sample; a row for each (p, C) of the figure."""
    rng = generator(5, n, number)
    X, Z = GAUSSIAN.draw(rng, n), GAUSSIAN.draw(rng, FRESH)
    cells = [("p", p, CURVE_COST) for p in (1.0, *paper.EXPONENTS)]
    cells += [("c", p, C) for p in CURVE_EXPONENTS for C in CURVE_COSTS]
    rows = []
    for axis, p, C in cells:
        model = fit(X, p=p, C=C, **GAUSSIAN.kernel)
        points = determining_points(model, density=True)
        low, high = points.risk(BETA)
        rows.append({
            "axis": axis, "n": n, "p": p, "C": C, "k": points.high,
            "risk": true_risk(model, GAUSSIAN, Z), "low": low, "high": high,
            "corrected": bound_of(model, margin=MARGINS, delta=BETA, event="error").total,
            "paper": bound_of(model, margin=MARGIN, delta=BETA, form="paper").total,
            "radius_sq": model.radius_sq_,
        })  # fmt: skip
    return rows


@simulation(
    "How do risk, interval and bounds depend on p and c?",
    name="rejection_curves",
    master_seed=MASTER_SEED,
)
def curves(
    ns: Sequence[int] = (50, 200, 1000), repetitions: Sequence[int] = (20, 20, 10)
) -> pd.DataFrame:
    """Means over the samples."""
    tables = []
    for n, count in zip(ns, repetitions, strict=True):
        bar = tqdm(range(count), desc=f"curves n={n}", leave=False, disable=None)
        rows = pd.DataFrame([row for number in bar for row in curve(n, number)])
        groups = rows.groupby(["axis", "n", "p", "C"], sort=False)
        tables.append(groups.mean().assign(repetitions=count).reset_index())
    return pd.concat(tables, ignore_index=True)


# -- 4. the twenty data sets ---------------------------------------------------------------------

DATA_SETTINGS = ((1.0, 0.1), (4 / 3, 0.1), (2.0, 0.1))
MOST, ASIDE, SLACK, LEVEL = 500, 0.2, 0.03, 0.99


PARAMETERS = {
    "settings": DATA_SETTINGS, "most": MOST, "aside": ASIDE, "slack": SLACK, "level": LEVEL,
    "beta": BETA, "master_seed": MASTER_SEED, "false_alarms": FALSE_ALARMS,
    "lower_end": "strictly outside, 1e-13",
}  # fmt: skip


@study(
    "Does the interval for the risk of rejection agree with held-out targets?",
    name="rejection_datasets",
    trials=20,
    parameters=PARAMETERS,
)
def datasets_job(task: Task) -> list[Row]:
    """One random half of the targets trains, the other measures the rejection rate.

    ``preparation`` is learnt from the part "aside", which stays in training and is not counted,
    or from "all" training points, as it is commonly done. The columns with ``half_`` are about a
    ball of half of the training points: the Clopper-Pearson interval from the others, and the test
    points it rejects; ``conformal_rejected`` are those beyond its conformal threshold.
    """
    rng = generator(4, int(task.dataset[1:]), task.trial)
    data = datasets.load(task.dataset)
    targets = rng.permutation(np.flatnonzero(data.y == 1))
    train, test = np.split(targets, [min(MOST, len(targets) // 2)])
    aside = train[: max(2, round(ASIDE * len(train)))]
    rows = []
    for preparation, used in (("aside", aside), ("all", train)):
        steps = preprocessor().fit(data.X[used], data.y[used])
        X, Z = steps.transform(data.X[train]), steps.transform(data.X[test])
        gamma = rbf_gamma(half_mean_distance(X[: len(used)]))
        counted = np.arange(len(train)) >= len(aside) if preparation == "aside" else None
        for p, nu in DATA_SETTINGS:
            C = cost(p, nu, len(train), SLACK)
            model = fit(X, p=p, C=C, gamma=gamma)
            points = determining_points(model, counted=counted)
            low, high = points.risk(BETA)
            rejected = int((model.predict(Z) < 0).sum())
            test_low, test_high = clopper_pearson(rejected, len(test), LEVEL)
            half = len(train) // 2  # holds all that is aside
            part = fit(X[:half], p=p, C=C, gamma=gamma)
            held = int((part.predict(X[half:]) < 0).sum())
            half_low, half_high = clopper_pearson(held, len(train) - half, 1 - BETA)
            half_rejected = int((part.predict(Z) < 0).sum())
            part.rethreshold(X[half:], false_alarm_rate=FALSE_ALARMS)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                corrected = bound_of(model, margin=MARGINS, delta=BETA, event="error").total
            rows.append({
                "dataset": task.dataset, "trial": task.trial, "preparation": preparation,
                "p": p, "C": C, "n_train": len(train), "n": points.n, "k": points.high,
                "k_low": points.low, "low": low, "high": high, "n_test": len(test),
                "rejected": rejected, "test_low": test_low, "test_high": test_high,
                "disagrees": bool(low > test_high or high < test_low),
                "corrected": corrected, "gap": model.duality_gap_,
                "half_low": half_low, "half_high": half_high, "half_rejected": half_rejected,
                "conformal_rejected": int((part.predict(Z) < 0).sum()),
            })  # fmt: skip
    return rows
