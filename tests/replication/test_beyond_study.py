"""Weights at every p, and spheres for digits: the parts of the two studies, on small pieces."""

from __future__ import annotations

import numpy as np
import pytest

from lpsvdd import LpSVDD
from replication import weights
from replication.protocol import Options, split
from replication.studies import STUDIES, beyond
from replication.trial import load_split_data

CLEAN, DIRTY = STUDIES["weighted_exponents"].tasks(["D7"], 1)


def test_outliers_join_the_training_rows_without_their_label() -> None:
    clean, dirty = beyond.unlabelled_outliers(CLEAN), beyond.unlabelled_outliers(DIRTY)
    n, m = len(clean.kernels.y), len(dirty.kernels.y)
    assert (m - n) / m == pytest.approx(beyond.SHARE_OUTLIERS, abs=0.03)
    assert (dirty.kernels.y == 1).all() and (clean.kernels.y == 1).all()
    assert np.array_equal(clean.y_test, dirty.y_test)
    data = load_split_data("D7", None)
    parts = split(data.y, "D7", 0, Options(unit_norm=False))
    assert n == (data.y[parts.train] == 1).sum() and len(clean.y_test) == len(parts.test)
    assert CLEAN.key != DIRTY.key


@pytest.mark.parametrize("p", [1.0, 5.0])
def test_cells_are_those_of_the_estimator(p: float) -> None:
    kernels = beyond.unlabelled_outliers(CLEAN).kernels
    for weighting in ("none", "position"):  # the other two need the inputs, which K does not hold
        cell = beyond.weighted_cells(kernels, weighting, p)[2]
        options = {"p": p, "kernel": "precomputed", "contamination": 0.1} | cell.params
        weight = None if weighting == "none" else weights.position(kernels.K)
        model = LpSVDD(**options).fit(kernels.K, sample_weight=weight)
        scores = model.score_samples(kernels.K_eval)
        np.testing.assert_allclose(cell.scores, scores, atol=1e-4)
    cells = [beyond.weighted_cells(kernels, one, p)[2].scores for one in beyond.WEIGHTINGS]
    assert all(np.abs(one - cells[0]).max() > 1e-3 for one in cells[1:])  # each weighting acts


def test_no_digit_plays_two_roles() -> None:
    _, labels = beyond.digits()
    for task in beyond.roles([], 3):
        parts = beyond.parts_of(task.choice)
        seen = np.concatenate(list(parts.values()))
        assert len(seen) == len(set(seen)) == len(labels)
        known = set(labels[parts["train"]])
        unknown = [set(labels[parts[f"unknown {name}"]]) for name in ("validation", "test")]
        assert len(known) == 6 and not known & (unknown[0] | unknown[1])
        assert not unknown[0] & unknown[1]
        assert (np.bincount(labels[parts["train"]])[list(known)] == beyond.PER_CLASS).all()
