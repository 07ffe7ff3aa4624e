"""Numbers of the chapter on tuning, on tables made by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lpsvdd.selection._search import WIDTHS
from replication.anomaly_sets import ADBENCH, design_half
from replication.criteria import CRITERIA
from replication.findings import tuning
from replication.studies import anomaly as study

NAMES = [one.name for one in ADBENCH]
METHODS = ["LpSVDDCV", "p = 2", "LpSVDD defaults", "OneClassSVM", "nearest neighbours"]


def contest_rows(neighbours=1.0, svm=7.0):
    """LpSVDDCV at 80 plus noise by set; the others below it by a constant, or by the set."""
    rng = np.random.default_rng(0)
    lines = []
    for i, name in enumerate(NAMES):
        for trial in range(2):
            level = 80.0 + rng.normal()
            values = dict(
                zip(METHODS, (0, 0, -3.0, -svm - i % 2, -neighbours - i % 3 / 10), strict=True)
            )
            for method, lower in values.items():
                seconds = 6.0 if method == "LpSVDDCV" else 0.5
                lines.append((name, trial, method, level + lower, seconds))
    columns = ["dataset", "trial", "method", "auc", "fit_seconds"]
    return pd.DataFrame(lines, columns=columns).assign(n_train=1000)


def mixed_rows():
    """Half a point less for every per cent of anomalies, on all sets but two."""
    clean = contest_rows()
    clean = clean[(clean["trial"] == 0) & ~clean["dataset"].isin(NAMES[:2])]
    return pd.concat(
        clean.assign(contaminated=share, auc=clean["auc"] - share / 2) for share in (0, 20)
    )


def criteria_rows():
    """AUC 90 at width 8, two points less a step wider, one a step narrower.

    The default criterion finds it, others are one step too narrow.
    """
    lines = []
    for name in NAMES:
        for trial in range(2):
            for width in study.WIDTHS:
                steps = abs(np.log2(width) - 3)
                values = {c: -abs(np.log2(width) - 4) for c in study.CRITERION_COLUMNS}
                values["artificial-outliers"] = -steps
                values["consistency"] = 0.0  # of equals the widest
                auc = 90 - steps * (2 if width < 8 else 1)
                row = {"dataset": name, "trial": trial, "width": width, "auc": auc}
                lines.append(row | values)
    return pd.DataFrame(lines)


def grid_rows(width_effect=3.0, share_effect=0.0, p_effect=1.0, cross=0.0):
    """Additive effects of set, width and p, plus one of width that differs by set."""
    lines = []
    for i, name in enumerate(NAMES):
        for w, width in enumerate(study.GRID_WIDTHS):
            base = 70.0 + i + width_effect * w + cross * (-1) ** (i + w)
            for j, p in enumerate(study.FIXED_EXPONENTS):
                for k, nu in enumerate(study.GRID_SHARES):
                    auc = base + p_effect * j + share_effect * k
                    lines.append((name, 0, p, nu, width, auc))
            lines.append((name, 0, None, None, width, base))
    return pd.DataFrame(lines, columns=["dataset", "trial", "p", "nu", "width", "auc"])


def test_differences_are_paired_and_rules_can_fail():
    rows = contest_rows()
    found = tuning.over(rows, "nearest neighbours", "held out")
    held = [i % 3 / 10 for i, name in enumerate(NAMES) if name not in design_half()]
    assert found.mean == pytest.approx(1.0 + np.mean(held)) and found.low > 1.0
    assert found.n == 11
    assert all(tuning.verdicts(rows).values())
    assert not tuning.verdicts(contest_rows(neighbours=0.3))["above nearest neighbours"]
    assert not tuning.verdicts(contest_rows(svm=5.0))["above OneClassSVM"]
    below = contest_rows(svm=2.0)
    assert not tuning.verdicts(below)["defaults no worse than OneClassSVM"]


def test_regret_is_what_the_choice_loses():
    rows = criteria_rows()
    lost = tuning.regret(rows)
    assert (lost["artificial-outliers"] == 0.0).all() and (lost["likelihood"] == 1.0).all()
    assert (lost["consistency"] == 6.0).all()  # width 1 of 1 to 64
    assert (tuning.regret(rows, study.WIDTHS)["consistency"] == 8.0).all()  # width 1/2
    assert (lost[tuning.ALWAYS] == 2.0).all()
    assert lost[tuning.RANDOM].to_numpy() == pytest.approx(np.mean([6, 4, 2, 0, 1, 2, 3]))
    table = tuning.regret_table(rows, "held out")
    assert table.index[0] == "artificial-outliers" and table["mean"].is_monotonic_increasing
    assert table.loc["likelihood", ["over the default", "over_low"]].tolist() == [1.0, 1.0]
    assert set(CRITERIA) < set(tuning.NAMES_OF_CRITERIA)
    assert set(WIDTHS) < set(study.WIDTHS)


def test_shares_of_variance_are_those_of_the_effects():
    shares = tuning.variance_shares(grid_rows())
    n_sets, n_widths, n_p = len(NAMES), len(study.GRID_WIDTHS), len(study.FIXED_EXPONENTS)
    parts = np.array([
        np.var(np.arange(n_sets)), np.var(3.0 * np.arange(n_widths)), np.var(np.arange(n_p)),
    ])  # fmt: skip
    named = shares.loc[["data set", "width", "exponent p"], "of all"]
    assert named.to_numpy() == pytest.approx(100 * parts / parts.sum())
    others = shares.drop(["data set", "width", "exponent p"])
    assert others["of all"].to_numpy() == pytest.approx(0.0, abs=1e-9)
    assert list(shares.index[:3]) == ["data set", "width", "width × data set"]
    assert shares["of all"].sum() == pytest.approx(100.0)
    assert shares["without the data set"].sum() == pytest.approx(100.0)
    crossed = tuning.variance_shares(grid_rows(width_effect=0.0, p_effect=0.0, cross=2.0))
    assert crossed.loc["width × data set", "without the data set"] > 99.0
    with pytest.raises(ValueError, match="not balanced"):
        tuning.variance_shares(grid_rows().iloc[1:])


def test_facts_are_numbers_of_the_tables():
    facts = tuning.tune(contest_rows(), criteria_rows(), grid_rows(), mixed_rows()).facts
    assert facts["rule_nn"] == facts["rule_svm"] == "holds"
    assert facts["lost"] == pytest.approx(10.0) and facts["lost_share"] == 20
    assert facts["fits"] == pytest.approx(12.0) and facts["regret"] == 0.0
    assert facts["worse"] == facts["criteria"] == 9 and facts["better"] == 0
    assert round(facts["share_p"]) == 3 and round(facts["share_width"]) == 97
    assert (facts["sets"], facts["contaminated_sets"], facts["best_width"]) == (22, 20, 64)
