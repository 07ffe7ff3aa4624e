"""Weights and labelled outliers on tables: each verdict on rows for which it holds or fails."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from replication.findings import labels_tables as labels
from replication.findings import weights_tables as weights
from replication.findings.weights_tables import THREE_WEIGHTINGS, weighted_at
from replication.studies import labelled_outliers_tables as labelled
from replication.studies import weights_range_tables as ranged
from replication.studies.tables import JUDGED, TableTask, standardised
from replication.studies.weights_range_tables import Tried, chosen_by_half

TABLES = JUDGED[:60]


def rows_of(aucs: dict[str, float], **further: object) -> pd.DataFrame:
    """Rows in which each contestant has that mean AUC, with a little noise of its own."""
    rng = np.random.default_rng(0)
    return pd.concat(
        pd.DataFrame({
            "dataset": TABLES, "contestant": name, "auc": mean + 0.1 * rng.normal(size=60),
        } | further)
        for name, mean in aucs.items()
    )  # fmt: skip


def weighted_rows(
    meaning: float = 0.0, left: float = 0.0, gain: float = 0.0, lp: float = 0.0, more_p: float = 0.0
) -> pd.DataFrame:
    """Rows with the given effects, the same for every weighting."""
    aucs = {
        weighted_at("none"): 80.0,
        weighted_at("none", "narrow"): 80.0 - gain,
        "lp, 40 cells": 80.0 + left + lp,
    }
    for w, p in itertools.product(THREE_WEIGHTINGS, (1.0, 2.0, 5.0)):
        own = 80.0 + left + (more_p if p > 1.0 else 0.0)
        aucs[weighted_at(w, p=p)] = own
        aucs[weighted_at(w, p=p, kind=" permuted")] = own - meaning
        aucs[weighted_at(w, "narrow", p)] = own - gain
        aucs[weighted_at(w, "narrow", p, " permuted")] = own - gain
    return rows_of(aucs)


@pytest.mark.parametrize(
    ("effects", "found"),
    [
        ({}, "undecided"),
        ({"gain": 3.0}, "the range"),
        ({"meaning": 2.0, "left": 2.0}, "the weights"),
        ({"meaning": 2.0, "left": 2.0, "gain": 3.0}, "both"),
        ({"gain": 3.0, "left": 2.0}, "undecided"),
        ({"gain": 3.0, "left": 0.2, "meaning": 0.2},
         "the range, with a difference of the weights that does not matter"),
        ({"gain": -3.0}, "undecided"),
        ({"meaning": -2.0}, "undecided"),
    ],
)  # fmt: skip
def test_reason_of_rows_with_known_effects(effects, found):
    assert weights.reason(weighted_rows(**effects)).found == found


@pytest.mark.parametrize(
    ("lp", "verdict"), [(2.0, "holds"), (0.0, "not reproduced"), (-2.0, "not reproduced")]
)
def test_claim_on_tables_by_the_sign_of_the_lead(lp, verdict):
    assert weights.claim_on_tables(weighted_rows(lp=lp))["verdict"] == verdict


def test_claim_on_tables_with_one_lead_holds_partly_unless_another_is_below():
    rows = weighted_rows()
    rows.loc[rows["contestant"] == weighted_at("position"), "auc"] -= 2.0
    assert weights.claim_on_tables(rows)["verdict"] == "weaker than printed"
    rows.loc[rows["contestant"] == weighted_at("density"), "auc"] += 2.0
    assert weights.claim_on_tables(rows)["verdict"] == "not reproduced"


def test_secondary_statements_about_p_hold_where_p_adds():
    quiet, loud = (weights.weights_secondary(weighted_rows(more_p=more)) for more in (0.0, 1.0))
    about_p = [name for name in loud.index if "minus p = 1" in name]
    assert loud.loc[about_p, "holds"].all() and not quiet["holds"].any()


# -- labelled outliers -----------------------------------------------------------------------------

EVEN = dict.fromkeys(
    ["lp-", "l1-", "l2-", "lp-, all", "lp without labels", *labels.RIVALS], 80.0
) | {f"{one}, chosen width": 80.0 for one in ("lp-", "l1-", "l2-")}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "do not matter"),
        ({"lp without labels": 79.8}, "help"),
        ({"lp without labels": 78.0}, "help notably"),
        ({"lp without labels": 82.0}, "hurt"),
    ],
)
def test_verdict_on_labels_follows_their_gain(changed, said):
    assert labels.label_verdicts(rows_of(EVEN | changed)).labels == said


def test_verdict_on_p_needs_a_lead_over_both_fixed_exponents():
    verdict = labels.label_verdicts(rows_of(EVEN | {"l1-": 78.0}))
    assert not verdict.p_helps and verdict.p_does_not_matter is False
    assert labels.label_verdicts(rows_of(EVEN | {"l1-": 78.0, "l2-": 78.0})).p_helps
    assert labels.label_verdicts(rows_of(EVEN)).p_does_not_matter


# -- the jobs --------------------------------------------------------------------------------------


def test_half_of_the_labels_chooses_and_the_other_judges():
    cells = [Tried("a", (90.0, 50.0)), Tried("b", (60.0, 80.0)), Tried("c", (99.0, 99.0), False)]
    row = chosen_by_half(cells)
    assert row["auc"] == 55.0 and (row["cells"], row["lost"]) == (3, 1)
    assert (row["first"], row["second"]) == ("a", "b")
    assert chosen_by_half([Tried("c", (99.0, 99.0), False)])["auc"] is None


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_wide_costs_lead_from_the_hard_ball_to_the_weighted_mean(p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    w = rng.uniform(0.1, 1.0, size=40)
    costs = ranged.wide_costs(K, w, p, 10)
    assert len(costs) == 10 and (np.diff(costs) < 0.0).all()
    kernels = ranged.Kernels(K, K, np.repeat([1, -1], 20))
    mean = kernels.score("", w / w.sum()).halves
    assert ranged.cells_of(kernels, w, p, costs, "")[-1].halves == pytest.approx(mean, abs=1.0)


@pytest.fixture
def drawn(monkeypatch):
    """A draw with 40 training rows, 60 normal test rows and 63 anomalies, for both jobs."""
    rng = np.random.default_rng(0)
    X, test = rng.normal(size=(40, 3)), rng.normal(size=(123, 3))
    test[60:] += 1.5
    data = standardised(X, test, np.repeat([1, -1], [60, 63]))
    for module in (ranged, labelled):
        monkeypatch.setattr(module, "draw", lambda task: data)
    return data


def test_the_job_on_weights_has_every_contestant_with_its_cells(drawn):
    rows = pd.DataFrame(ranged.weights_range_tables(TableTask("made", 1))).set_index("contestant")
    assert len(rows) == 69 and rows["auc"].between(50.0, 100.0).all()
    assert rows["lost"].sum() <= 0.01 * rows["cells"].sum()  # where rounding forbids a certificate
    wide = rows.loc[[weighted_at(w) for w in ("none", *THREE_WEIGHTINGS)], "cells"]
    assert wide.tolist() == [40, 39, 40, 40] and rows.loc["lp, 40 cells", "cells"] == 40


def test_every_third_anomaly_is_a_label_and_the_others_are_tested(drawn):
    data = labelled.labelled_split(TableTask("made", 1))
    assert (len(data.targets), len(data.labels), len(data.test)) == (40, 21, 60 + 42)
    assert [int((data.y[part] < 0).sum()) for part in data.parts] == [21, 21]
    assert not any((data.test == row).all(axis=1).any() for row in data.labels)
    cells = labelled.labelled_balls(data, 0.3)
    assert {name: len(own) for name, own in cells.items()} == {
        "l1-": 12, "l2-": 12, "lp-": 12, "lp-, all": 48, "lp without labels": 12,
    }  # fmt: skip
    assert set(cells["l2-"]) <= set(cells["lp-, all"])


def test_pairs_of_an_epoch_are_half_targets_and_a_quarter_each_other_kind():
    batches = list(labelled.pairs_of(30, 10, 400, np.random.default_rng(0)))
    left, right, worth = (np.concatenate(part) for part in zip(*batches, strict=True))
    assert len(batches) == 4 and np.bincount(worth.astype(int))[[0, 4, 8]].tolist() == [
        200,
        100,
        100,
    ]
    assert (worth == 4.0 * ((left >= 30).astype(int) + (right >= 30))).all()
