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


def named(function, fixed, **wrong):
    """Rows of the table with one wrong keyword each, and its name in the error."""
    changes = [(name, value) for name, values in wrong.items() for value in values]
    return [
        (lambda name=name, value=value: function(**fixed | {name: value}), rf"\b{name}\b")
        for name, value in changes
    ]


def fitted(cls, **fixed):
    return lambda y=None, **options: cls(**fixed | options).fit(X, y)


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
    *named(fitted(LpSVDD), {}, p=[0.5, np.inf, np.nan, "2"], kernel=["sigmoid"],
           gamma=[-1.0, "median"], contamination=[0.0, 0.6], tol=[0.0], max_iter=[0], nu=[0.0, 1.5],
           surface=["sphere"], solver=["magic"], C=[0.0, -1.0, np.inf, "big", None, [1.0]]),
    *named(fitted(LpSVDD), {"y": Y}, C_neg=[0.0]),
    *named(fitted(LpSVDD, **MANY), {}, landmarks=[0, 2.5, np.ones((3, 5)), np.full((3, 3), np.nan)],
           kernel=["precomputed"], solver=["dense"]),
    *case(LpSVDD, "C must be a positive number or 'scale', got", {"C": np.nan}),
    *case(LpSVDD, "positive semidefinite", {"solver": "working-set", "kernel": negated}),
    *case(LpSVDD, "leave", MANY | {"kernel": "linear", "landmarks": np.ones((3, 3))}),
    *named(fitted(LpSVDDCV), {}, criterion=["best"], p=[0.5, []], cv=[1], max_samples=[2, 0.5],
           trim=[0.5, -0.1, "a"]),
    *case(LpSVDDCV, r"\bgammas?\b", {"gammas": "wide"}, {"gammas": []}, {"gammas": [-1.0]}),
    *case(LpSVDDCV, r"\bnus?\b", {"nus": [0.0]}, {"nus": "some"}),
    *named(fitted(ConformalDetector, estimator=LpSVDD()), {}, method=["jackknife"], level=[0.0],
           calibration_share=[1.0], n_folds=[1], estimator=[StandardScaler()]),
    (fit(ConformalDetector, estimator=LocalOutlierFactor()), "needs novelty=True"),
    (lambda: ConformalDetector(LpSVDD()).fit(X[:1]), "n_samples = 1"),
    (lambda: ConformalDetector(LpSVDD()).p_values(X), "not fitted"),
    *named(ConformalDetector(LpSVDD(), random_state=0).fit(X).select, {"X": X},
           fdr=[0.0, 1.0, "a", True]),
    *named(fitted(GaussianProcessOCC), {}, criterion=["median"], noise=[0.0]),
    *named(fitted(KernelPCAOCC), {}, n_components=[-1, 1.5, True, None]),
    *named(fitted(KNFST), {}, variant=["D"]),
    *named(FITTED.rethreshold, {"X": X}, quantile=[None, 1.0], false_alarm_rate=[-0.1]),
    *call(FITTED.rethreshold, "quantile", {"quantile": 0.1, "false_alarm_rate": 0.1}, X=X),
]  # fmt: skip
FUNCTIONS = [
    *named(error_bound, BALL, margin=[0.0, -1.0, [], math.nan], delta=[0.0, 1.0],
           p=[0.99, math.inf], slack=[[0.0] * 3, [-0.1, 0, 0, 0]], B=[0.0], B_kappa=[0.5],
           K=[np.ones((4, 3)), np.ones((2, 2, 2)), -np.eye(4), np.zeros((0, 0))], form=["best"],
           radius_sq=[math.nan]),
    *call(error_bound, "twice", {"margin": [0.5, 0.5]}, **BALL),
    *call(error_bound, "norm", {"negatives": True}, {"B": 1.0, "norm": 2.0}, **BALL),
    *named(sample_size, {"p": 2, "margin": 1, "delta": 0.05}, p=[0.5], margin=[0], delta=[1.5],
           target=[0], empirical=[-1], form=["x"]),
    *named(bounds.rademacher, {"K": np.eye(3)}, n_draws=[0], K=[np.ones((2, 3))]),
    (lambda: bounds.rademacher(np.ones(3)), "rademacher needs the square kernel matrix"),
    *named(bounds.trace_bound, {"K": np.eye(3)}, B=[-1.0]),
    *named(bounds.margin_loss, {"t": 0.5, "p": 2}, margin=[0]),
    *named(bounds.stratum, {"B_kappa": 1.0}, norm=[-1.0]),
    *named(bounds.bound_of, {"model": FITTED, "margin": 1.0}, event=["x"]),
    (lambda: bounds.bound_of(FITTED, margin=1.0, event="error", form="paper"), "corollary"),
    *named(rejection_risk, {"k": 1, "n": 10}, k=[-1, 2.5, 11], n=[0], beta=[0.0, 1.0],
           sides=["left"]),
    *named(rejection_risk_of, {"model": FITTED}, counted=[np.ones(11, bool), np.ones(12, int)]),
    (lambda: rejection_risk_of(FITTED, counted=np.zeros(12, bool)), "no positive training point"),
    (lambda: MOVED.rejection_risk(), "moved the threshold"),
    (lambda: bounds.cost_for_rate(LpSVDD(gamma=0.3), X, 0.001), "no cost guarantees a rejection"),
    (lambda: bounds.cost_for_rate(LpSVDD(gamma=0.3), X, 1.5), "rate must lie"),
    *call(exponent_sensitivity, "two exponents", {"ps": (1.0,)}, {"ps": 2.0}, X=X),
    *call(exponent_sensitivity, "p must|nu must", {"ps": (0.5, 2.0)}, {"nu": 0.0}, X=X),
    (lambda: exponent_sensitivity(X[:9]), "minimum of 10"),
    (lambda: exponent_sensitivity(HOLE), "NaN"),
    (lambda: density(k=3), "X or distances"),
    *named(density, {"X": X}, k=[0, 2.5]),
    *call(position, "must|samples|square", {"variant": "none"}, {"K": K[:5]}, {"y": np.ones(3)},
          K=K),
    *call(global_local, "must", {"lam": 1.5}, {"k": 0}, K=K),
    (lambda: sample_weights("fame", K), "weighting must be one of"),
    *call(explain, "kernel must be rbf, linear or poly", {"model": LINEAR, "X": K},
          {"model": LpSVDD(kernel=lambda a, b: float(a @ b)).fit(X)}, X=X),
    (lambda: explain(LpSVDD(kernel="poly").fit(X).set_params(degree=2.5), X), "a whole degree"),
    *call(explain, "a fitted LpSVDD is needed", {"model": KernelMean().fit(X)},
          {"model": LpSVDD()}, X=X),
    (lambda: nearest_support_vectors(LINEAR, X), "needs rows"),
    (lambda: nearest_support_vectors(LpSVDD(C=0.5, **MANY).fit(X), X), "does not keep them"),
    (lambda: explain(ConformalDetector(LpSVDD(), "cross", random_state=0).fit(X), X),
     "holds 5 detectors; take one of them"),
    *named(solve, {"K": np.eye(3), "p": 2.0, "c": 1.0}, p=["2", np.nan], c=[np.inf, [1.0, 2.0]],
           tol=[0.0], max_iter=[0], y=[np.ones(9)]),
    *[(lambda K=K: solve(K, p=2.0, c=1.0), words) for K, words in (
        (np.ones((2, 3)), "square"), (np.ones(3), "square"), (np.empty((0, 0)), "non-empty"),
        (np.full((2, 2), np.nan), "NaN"), (np.array([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (np.array([["a", "b"], ["b", "a"]]), "real numbers"), (INDEFINITE, "eigenvalue is -1"),
        (csr_matrix(np.eye(3)), "K must be a dense array"),
    )],
    *[(lambda a=a: certify(np.eye(3), p=1.2, c=1.0, alpha=a), "alpha must be 3 finite")
      for a in (np.full(3, np.nan), np.ones(2))],
    *[row for statement in (solve_dual, solve_primal) for row in named(
        statement, {"K": np.eye(5), "y": None, "p": 2.0, "c": 1.0}, y=[np.zeros(5), -np.ones(5)],
        p=[0.5, np.inf], c=[0.0, np.ones(3)], cones=["exp"],
        K=[np.ones((3, 2)), np.array([[1.0, 0.5], [0.1, 1.0]]), INDEFINITE],
    )],
]  # fmt: skip


@pytest.mark.parametrize(("refused", "words"), SAMPLES + PARAMETERS + FUNCTIONS)
def test_bad_input_is_refused_by_name(refused, words):
    with pytest.raises((ValueError, TypeError, MemoryError), match=words):
        refused()
