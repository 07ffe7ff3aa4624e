"""Bad input is refused by name: one table of calls and of the words that each error must hold."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler

from lpsvdd import LpSVDD, LpSVDDCV, bounds, exponent_sensitivity, solve
from lpsvdd.bounds import error_bound, rejection_risk, rejection_risk_of, sample_size
from lpsvdd.conformal import ConformalDetector
from lpsvdd.explain import explain, nearest_support_vectors
from lpsvdd.reference import solve_dual, solve_primal
from lpsvdd.solver import certify
from replication.baselines import KNFST, GaussianProcessOCC, KernelMean, KernelPCAOCC
from replication.weights import density, global_local, position, sample_weights

RNG = np.random.default_rng(1)
X = RNG.normal(size=(12, 3))
Y = np.repeat([1, -1], [8, 4])
K = X @ X.T
HOLE = np.where(np.arange(12)[:, None] == 5, np.nan, X)
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
FITTED = LpSVDD(C=0.5, gamma=0.3).fit(X)
MOVED = LpSVDD(C=0.5, gamma=0.3, contamination=0.1).fit(X)
LINEAR = LpSVDD(kernel="precomputed").fit(K)
BALL = {"p": 2.0, "slack": [0.0] * 4, "K": np.eye(4), "margin": 1.0, "delta": 0.05}
BALL |= {"radius_sq": 0.5}
MANY = {"solver": "landmarks", "landmarks": 5}


def negated(a, b):
    return -float(a @ b)


def fit(cls, rows=X, y=None, sample_weight=None, **options):
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    return lambda: cls(**options).fit(rows, y, **given)


def case(cls, words, *cases, rows=X, y=None):
    """Rows of the table that differ in the parameters of one class."""
    return [(fit(cls, rows, y, **options), words) for options in cases]


def call(function, words, *cases, **fixed):
    """Rows of the table that differ in the keywords of one function."""
    return [(lambda more=more: function(**fixed | more), words) for more in cases]


def reference(words, **change):
    given = {"K": np.eye(5), "y": None, "p": 2.0, "c": 1.0} | change
    return [(lambda f=f: f(**given), words) for f in (solve_dual, solve_primal)]


SAMPLES = [
    (fit(LpSVDD, HOLE), "NaN"),
    (fit(LpSVDD, np.full((6, 2), np.inf)), "infinity"),
    (fit(LpSVDD, np.empty((0, 2))), "0 sample"),
    (fit(LpSVDD, X[:1]), "1 sample"),
    (fit(LpSVDD, np.ones(6)), "2D array"),
    *[(fit(LpSVDD, X, np.r_[wrong, Y[1:]]), r"\by\b") for wrong in (0, 2.5, np.nan)],
    (fit(LpSVDD, X, np.repeat(["a", "b"], 6)), r"\by\b"),
    (fit(LpSVDD, X, -np.ones(12)), r"\by\b.*no positive"),
    (fit(LpSVDD, X, np.ones(5)), r"\by\b|inconsistent"),
    (fit(LpSVDD, X, Y, (Y < 0).astype(float)), "sample_weight"),
    (fit(LpSVDD, X, Y, -np.ones(12)), "sample_weight|[Nn]egative"),
    (fit(LpSVDD, csr_matrix((10**6, 10**7))), "TruncatedSVD"),
    (fit(LpSVDD, np.ones((6, 5)), kernel="precomputed"), "square"),
    (fit(LpSVDD, np.triu(np.ones((6, 6))), kernel="precomputed"), "symmetric"),
    (fit(LpSVDD, INDEFINITE, kernel="precomputed"), "eigenvalue is -1"),
    (fit(LpSVDD, 1e307 * np.eye(20), kernel="precomputed"), "overflow"),
    *[
        (fit(LpSVDD, rows, kernel=kernel), f"X .*{word}")
        for kernel in ("rbf", "linear", "poly")
        for rows, word in ((X * 1e-160, "underflow"), (X * 1e200, "overflow"))
    ],
    (fit(LpSVDD, np.where(np.arange(36).reshape(12, 3) == 7, 1e308, X)), "X .*overflow"),
    (lambda: LpSVDD().predict(X), "not fitted"),
    (lambda: FITTED.predict(X[:, :1]), "features"),
    (lambda: FITTED.score_samples(X, diag=np.ones(12)), "diag"),
    (lambda: LINEAR.score_samples(K), "diag"),
    (lambda: LINEAR.score_samples(K, diag=np.ones(11)), "diag"),
    (fit(LpSVDD, HOLE, **MANY), "NaN"),
    (fit(LpSVDD, X * 1e200, **MANY), "overflow"),
    (fit(LpSVDD, X, None, np.zeros(12), **MANY), "[Ss]ample.weights? .*zero"),
    (fit(LpSVDD, X, None, np.ones(4), **MANY), "sample_weight"),
    (fit(LpSVDDCV, csr_matrix(X)), "sparse.*sparse_output=False"),
    (lambda: ConformalDetector(LpSVDDCV()).fit(csr_matrix(X)), "sparse.*sparse_output=False"),
]
PARAMETERS = [
    *case(LpSVDD, r"\bp\b", *({"p": p} for p in (0.5, np.inf, np.nan, "2"))),
    *case(LpSVDD, "C must be a positive number or 'scale', got",
          *({"C": C} for C in (0.0, -1.0, np.inf, np.nan, "big", None, [1.0]))),
    *case(LpSVDD, r"\bC_neg\b", {"C_neg": 0.0}, y=Y),
    *case(LpSVDD, r"\bkernel\b", {"kernel": "sigmoid"}),
    *case(LpSVDD, r"\bgamma\b", {"gamma": -1.0}, {"gamma": "median"}),
    *case(LpSVDD, r"\bcontamination\b", {"contamination": 0.0}, {"contamination": 0.6}),
    *case(LpSVDD, r"\btol\b", {"tol": 0.0}),
    *case(LpSVDD, r"\bmax_iter\b", {"max_iter": 0}),
    *case(LpSVDD, r"\bnu\b", {"nu": 0.0}, {"p": 1.0, "nu": 1.5}),
    *case(LpSVDD, "whole number >= 1", MANY | {"landmarks": 0}, MANY | {"landmarks": 2.5}),
    *case(LpSVDD, "rows of 3 features", MANY | {"landmarks": np.ones((3, 5))}),
    *case(LpSVDD, "NaN or infinity", MANY | {"landmarks": np.full((3, 3), np.nan)}),
    *case(LpSVDD, "is only for solver='landmarks'", MANY | {"solver": "dense"}),
    *case(LpSVDD, "solver must be one of", {"solver": "magic"}),
    *case(LpSVDD, "positive semidefinite", {"solver": "working-set", "kernel": negated}),
    *case(LpSVDD, "needs samples, not a kernel", {"solver": "landmarks", "kernel": "precomputed"}),
    *case(LpSVDD, "leave", MANY | {"kernel": "linear", "landmarks": np.ones((3, 3))}),
    *case(LpSVDD, "surface must be one of", {"surface": "sphere"}),
    *case(LpSVDDCV, r"\bcriterion\b", {"criterion": "best"}),
    *case(LpSVDDCV, r"\bgammas?\b", {"gammas": "wide"}, {"gammas": []}, {"gammas": [-1.0]}),
    *case(LpSVDDCV, r"\bnus?\b", {"nus": [0.0]}, {"nus": "some"}),
    *case(LpSVDDCV, r"\bp\b", {"p": 0.5}, {"p": []}),
    *case(LpSVDDCV, r"\bcv\b", {"cv": 1}),
    *case(LpSVDDCV, r"\bmax_samples\b", {"max_samples": 2}, {"max_samples": 0.5}),
    *call(
        lambda **more: ConformalDetector(**{"estimator": LpSVDD()} | more).fit(X),
        "must|needs",
        {"method": "jackknife"}, {"calibration_share": 1.0}, {"level": 0.0}, {"n_folds": 1},
        {"estimator": StandardScaler()}, {"estimator": LocalOutlierFactor()},
    ),
    (lambda: ConformalDetector(LpSVDD()).fit(X[:1]), "n_samples = 1"),
    (lambda: ConformalDetector(LpSVDD()).p_values(X), "not fitted"),
    *call(ConformalDetector(LpSVDD(), random_state=0).fit(X).select, "fdr",
          {"fdr": 0.0}, {"fdr": 1.0}, {"fdr": "a"}, {"fdr": True}, X=X),
    *case(GaussianProcessOCC, "must", {"criterion": "median"}, {"noise": 0.0}),
    *case(KernelPCAOCC, "must", *({"n_components": q} for q in (-1, 1.5, True, None))),
    *case(KNFST, "must", {"variant": "D"}, {"ridge": -1.0}, {"tol": 1.0}),
    *call(FITTED.rethreshold, "quantile", {}, {"quantile": 0.1, "false_alarm_rate": 0.1},
          {"quantile": 1.0}, X=X),
    *call(FITTED.rethreshold, "false_alarm_rate", {"false_alarm_rate": -0.1}, X=X),
]  # fmt: skip
FUNCTIONS = [
    *call(error_bound, "margin", *({"margin": v} for v in (0.0, -1.0, [], math.nan)), **BALL),
    *call(error_bound, "twice", {"margin": [0.5, 0.5]}, **BALL),
    *call(error_bound, "delta", {"delta": 0.0}, {"delta": 1.0}, **BALL),
    *call(error_bound, "p must", {"p": 0.99}, {"p": math.inf}, **BALL),
    *call(error_bound, "square", {"K": np.ones((4, 3))}, {"K": np.ones((2, 2, 2))}, **BALL),
    *call(error_bound, "diagonal", {"K": -np.eye(4)}, **BALL),
    *call(error_bound, "at least one", {"K": np.zeros((0, 0))}, **BALL),
    *call(error_bound, "slack", {"slack": [0.0] * 3}, {"slack": [-0.1, 0, 0, 0]}, **BALL),
    *call(error_bound, "B must", {"B": 0.0}, **BALL),
    *call(error_bound, "B_kappa", {"B_kappa": 0.5}, **BALL),
    *call(error_bound, "form", {"form": "best"}, **BALL),
    *call(error_bound, "radius_sq", {"radius_sq": math.nan}, **BALL),
    *call(error_bound, "norm", {"negatives": True}, {"B": 1.0, "norm": 2.0}, **BALL),
    (lambda: sample_size(0.5, 1, 0.05), "p must"),
    (lambda: sample_size(2, 0, 0.05), "margin"),
    (lambda: sample_size(2, 1, 1.5), "delta"),
    (lambda: sample_size(2, 1, 0.05, 0), "target"),
    (lambda: sample_size(2, 1, 0.05, empirical=-1), "empirical"),
    (lambda: sample_size(2, 1, 0.05, form="x"), "form"),
    (lambda: bounds.rademacher(np.ones((2, 3)), 1.0), "square"),
    (lambda: bounds.rademacher(np.ones(3)), "rademacher needs the square kernel matrix"),
    (lambda: bounds.rademacher(np.eye(3), 1.0, n_draws=0), "n_draws"),
    (lambda: bounds.trace_bound(np.eye(3), -1.0), "B must"),
    (lambda: bounds.margin_loss(0.5, p=2, margin=0), "margin"),
    (lambda: bounds.stratum(-1.0, 1.0), "norm"),
    (lambda: bounds.bound_of(FITTED, margin=1.0, event="x"), "event"),
    (lambda: bounds.bound_of(FITTED, margin=1.0, event="error", form="paper"), "corollary"),
    (lambda: rejection_risk(-1, 10), "k must be an integer >= 0"),
    (lambda: rejection_risk(2.5, 10), "k must be an integer"),
    (lambda: rejection_risk(0, 0), "n must be an integer >= 1"),
    (lambda: rejection_risk(11, 10), "k must not exceed n"),
    (lambda: rejection_risk(1, 10, 0.0), "beta must lie"),
    (lambda: rejection_risk(1, 10, 1.0), "beta must lie"),
    (lambda: rejection_risk(1, 10, sides="left"), "sides must be one of both, upper, lower"),
    (lambda: rejection_risk_of(FITTED, counted=np.ones(11, bool)), "counted must be 12 booleans"),
    (lambda: rejection_risk_of(FITTED, counted=np.ones(12, int)), "counted must be 12 booleans"),
    (lambda: rejection_risk_of(FITTED, counted=np.zeros(12, bool)), "no positive training point"),
    (lambda: MOVED.rejection_risk(), "moved the threshold"),
    (lambda: bounds.cost_for_rate(LpSVDD(gamma=0.3), X, 0.001), "no cost guarantees a rejection"),
    (lambda: bounds.cost_for_rate(LpSVDD(gamma=0.3), X, 1.5), "rate must lie"),
    *call(exponent_sensitivity, "two exponents", {"ps": (1.0,)}, {"ps": 2.0}, X=X),
    *call(exponent_sensitivity, "p must|nu must", {"ps": (0.5, 2.0)}, {"nu": 0.0}, X=X),
    (lambda: exponent_sensitivity(X[:9]), "minimum of 10"),
    (lambda: exponent_sensitivity(HOLE), "NaN"),
    (lambda: density(k=3), "X or distances"),
    *call(density, "k must", {"k": 0}, {"k": 2.5}, X=X),
    *call(position, "must|samples|square", {"variant": "none"}, {"K": K[:5]}, {"y": np.ones(3)},
          K=K),
    *call(global_local, "must", {"lam": 1.5}, {"k": 0}, K=K),
    (lambda: sample_weights("fame", K), "weighting must be one of"),
    (lambda: explain(LpSVDD(kernel=lambda a, b: float(a @ b)).fit(X), X), "kernel must be rbf"),
    (lambda: explain(LINEAR, K), "kernel must be rbf, linear or poly"),
    (lambda: explain(LpSVDD(kernel="poly").fit(X).set_params(degree=2.5), X), "a whole degree"),
    *[(lambda m=m: explain(m, X), "a fitted LpSVDD is needed")
      for m in (KernelMean().fit(X), LpSVDD())],
    (lambda: nearest_support_vectors(LINEAR, X), "needs rows"),
    (lambda: nearest_support_vectors(LpSVDD(C=0.5, **MANY).fit(X), X), "does not keep them"),
    (lambda: explain(ConformalDetector(LpSVDD(), "cross", random_state=0).fit(X), X),
     "holds 5 detectors; take one of them"),
    *call(solve, "must", {"p": "2"}, {"p": np.nan}, {"c": np.inf},
          {"c": [1.0, 2.0]}, {"tol": 0.0}, {"max_iter": 0}, {"y": np.ones(9)}, K=np.eye(3), p=2.0,
          c=1.0),
    *[(lambda K=K: solve(K, p=2.0, c=1.0), words) for K, words in (
        (np.ones((2, 3)), "square"), (np.ones(3), "square"), (np.empty((0, 0)), "non-empty"),
        (np.full((2, 2), np.nan), "NaN"), (np.array([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (np.array([["a", "b"], ["b", "a"]]), "real numbers"), (INDEFINITE, "eigenvalue is -1"),
        (csr_matrix(np.eye(3)), "K must be a dense array"),
    )],
    *[(lambda a=a: certify(np.eye(3), p=1.2, c=1.0, alpha=a), "alpha must be 3 finite")
      for a in (np.full(3, np.nan), np.ones(2))],
    *reference(r"\bK\b", K=np.ones((3, 2))),
    *reference(r"\bK\b", K=np.array([[1.0, 0.5], [0.1, 1.0]])),
    *reference("eigenvalue", K=INDEFINITE),
    *reference(r"\bK\b", K=np.full((2, 2), np.nan)),
    *reference(r"\by\b", y=np.zeros(5)),
    *reference(r"\by\b", y=-np.ones(5)),
    *reference(r"\bp\b", p=0.5),
    *reference(r"\bp\b", p=np.inf),
    *reference(r"\bc\b", c=0.0),
    *reference(r"\bc\b", c=np.ones(3)),
    (lambda: solve_dual(np.eye(5), None, 2.0, 1.0, cones="exp"), "cones"),
]  # fmt: skip


@pytest.mark.parametrize(("refused", "words"), SAMPLES + PARAMETERS + FUNCTIONS)
def test_bad_input_is_refused_by_name(refused, words):
    with pytest.raises((ValueError, TypeError, MemoryError), match=words):
        refused()
