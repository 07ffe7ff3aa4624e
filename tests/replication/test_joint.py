"""The joint form of the dual as printed, and as it would have to be printed."""

from __future__ import annotations

import numpy as np
import pytest
from outside import certified

from lpsvdd.kernels import kernel_matrix
from lpsvdd.reference import solve_dual
from replication.joint import solve_joint


def problem(n_pos: int, n_neg: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(7).normal(size=(n_pos + n_neg, 3))
    X[n_pos:] += 0.7
    return kernel_matrix(X, gamma=0.3), np.r_[np.ones(n_pos), -np.ones(n_neg)]


@pytest.mark.parametrize("n_neg", [0, 6], ids=["one-class", "negatives"])
@pytest.mark.parametrize("p", [4 / 3, 2.0, 5.0])
def test_printed_joint_form_is_the_separate_form_at_half_the_cost(p, n_neg):
    K, y = problem(10, n_neg)
    c = np.where(y > 0, 0.6, 0.25)
    separate, half = (certified(solve_dual, K, y, p, costs) for costs in (c, c / 2))
    printed = certified(solve_joint, K, y, p, c, judged_at=c / 2)
    corrected = certified(solve_joint, K, y, p, c, factor="corrected")
    assert printed.value == pytest.approx(half.value, abs=1e-6)
    assert corrected.value == pytest.approx(separate.value, abs=1e-6)
    assert printed.alpha == pytest.approx(half.alpha, abs=1e-4)
    assert abs(printed.value - separate.value) > 1e-3


def test_what_the_joint_form_cannot_state_is_refused():
    K, y = problem(10, 0)
    assert solve_joint(K, y, 1.001, 1e-3).status == "overflow"
    with pytest.raises(ValueError, match="factor"):
        solve_joint(K, y, 2.0, 1.0, factor="half")
    with pytest.raises(ValueError, match="p must be greater than 1"):
        solve_joint(K, y, 1.0, 1.0)
