"""The registry: names, grids, and whole grids on one kernel against one estimator per cell."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from lpsvdd.estimators import LpSVDD
from lpsvdd.kernels import half_mean_distance, kernel_diagonal, kernel_matrix, rbf_gamma
from replication import datasets, methods, weights
from replication.baselines import KNFST, GaussianProcessOCC, KernelMean, KernelPCAOCC
from replication.methods import METHODS, WEIGHTINGS, SplitKernels, grid
from replication.paper import EXPONENTS
from replication.preprocessing import preprocessor
from replication.protocol import Task, judge, prepare

SHIPPED = [record.id for record in datasets.RECORDS if record.kind != "user"]
KEYS = list(METHODS)
NAMES = [f"{setting}: {name}" for setting, name in KEYS]
CLOSED = {"GP", "KPCA", "KNFST", "KNFST-", "kernel mean", "mean difference"}
WEIGHTED = ("l1-SVDD", "P-SVDD", "DW-SVDD", "GL-SVDD")  # p = 1, so that a share gives the cost
NUS = (0.01, 0.1, 0.5, 0.9, 1.0)
ESTIMATORS = {
    "GP": GaussianProcessOCC,
    "KPCA": KernelPCAOCC,
    "KNFST": KNFST,
    "kernel mean": KernelMean,
    "l1-SVDD": partial(LpSVDD, p=1.0),
    "l2-SVDD": partial(LpSVDD, p=2.0),
    "lp-SVDD": LpSVDD,
}
every_method = pytest.mark.parametrize("key", KEYS, ids=NAMES)


def prepared(name, setting, most=None):
    """Half of the rows for training, all rows to be scored; ``most`` limits each class."""
    data = datasets.load(name)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(data.y == label))[:most] for label in (1, -1)]
    train = [part[: len(part) // 2] for part in rows]
    train = train[0] if setting == "pure" else np.concatenate(train)
    prepare = preprocessor().fit(data.X[train], data.y[train])
    X, Z = prepare.transform(data.X[train]), prepare.transform(data.X[np.concatenate(rows)])
    gamma = rbf_gamma(half_mean_distance(X))
    return X, Z, data.y[train], gamma


def as_kernels(X, Z, y, gamma=None, kernel="rbf"):
    options = {"kernel": kernel, "gamma": gamma}
    return SplitKernels(
        K=kernel_matrix(X, **options),
        y=y,
        K_eval=kernel_matrix(Z, X, **options),
        diag=kernel_diagonal(X, **options),
        diag_eval=kernel_diagonal(Z, **options),
        X=X,
    )


def fitted(name, params, X, y=None, **options):
    """Fit the estimator of a cell; a parameter of the cell overrides an option."""
    if name not in WEIGHTINGS:
        return ESTIMATORS[name](**(options | params)).fit(X, y)
    own = {key: params[key] for key in ("variant", "k", "lam") if key in params}
    rest = {key: value for key, value in params.items() if key not in own}
    K = kernel_matrix(X, kernel=options["kernel"], gamma=options.get("gamma"))
    w = weights.sample_weights(WEIGHTINGS[name], K, y, X, **own)
    return LpSVDD(**({"p": 1.0} | options | rest)).fit(X, y, sample_weight=w)


BEYOND = {
    "GP": grid(criterion=("mean", "variance", "logprob", "ratio"), noise=(1e-6, 1e-2, 1e2)),
    "KPCA": grid(n_components=(0, 3, 0.5, 0.95)),
    "KNFST-": grid(variant=("A", "B", "C")),
}
"""Parameters that a path takes and the paper's grids do not hold."""


def beyond(method):
    """The same for the family: shares instead of costs, costs further out, p with weights."""
    if method.name in BEYOND:
        return BEYOND[method.name]
    found = [cell | {"C": 1e2 * cell["C"]} for cell in method.grid if "SVDD" in method.name]
    if method.name.rstrip("-") in WEIGHTED:
        found += [cell | {"p": EXPONENTS[i % 10]} for i, cell in enumerate(method.grid)]
        own = [{name: v for name, v in cell.items() if name != "C"} for cell in method.grid]
        found += [cell | {"nu": NUS[i % len(NUS)]} for i, cell in enumerate(own)]
    return found


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_path_gives_what_the_estimator_of_each_cell_gives(key, kernel):
    method = METHODS[key]
    X, Z, y, gamma = prepared("wine", method.setting)
    X = X + 0.5 * (kernel == "linear")  # off centre, so that the linear kernel matters
    kernels = as_kernels(X, Z, y, gamma, kernel)
    options = {"kernel": kernel, "contamination": 0.1} | (
        {"gamma": gamma} if kernel == "rbf" else {}
    )
    for cells in (method.grid, beyond(method)):
        picked = cells[:: max(1, len(cells) // 13)]
        found = method.path(kernels, picked)
        assert [cell.params for cell in found] == list(picked)
        for cell in found:
            if cell.scores is None:
                assert cell.status == "infeasible" and "nu" not in cell.params
                assert np.isnan(cell.gap)
                if method.name == "DW-SVDD":
                    total = weights.density(X, k=cell.params["k"]).sum()
                    assert cell.params["C"] * total < 1.0
                continue
            if method.name in CLOSED:
                assert cell.status == "closed form" and np.isnan(cell.gap)
            else:
                assert cell.status == "optimal"
                assert cell.gap <= (1e-3 if method.name == "SVM" else 1e-9)
            expected = expected_scores(method.name.rstrip("-"), cell.params, X, y, Z, options)
            np.testing.assert_allclose(
                cell.scores, expected, rtol=1e-4, atol=2e-4, err_msg=str(cell)
            )


def expected_scores(name, params, X, y, Z, options):
    """Scores by the package's estimators; those of the two references by scikit-learn, by hand."""
    if name == "SVM":
        kernel = {key: value for key, value in options.items() if key != "contamination"}
        return SVC(tol=1e-6, **params, **kernel).fit(X, y).decision_function(Z)
    if name == "mean difference":
        kernels = as_kernels(X, Z, y, options.get("gamma"), options["kernel"])
        beta = (y > 0) / (y > 0).sum() - params["lam"] * (y < 0) / (y < 0).sum()
        return 2 * kernels.K_eval @ beta - kernels.diag_eval - beta @ kernels.K @ beta
    return fitted(name, params, X, y, **options).score_samples(Z)


def test_scores_hold_the_digits_that_the_certificate_supports(monkeypatch):
    """D13 has few distinct rows: many points lie on one sphere, in an order that is not proved."""
    trial = prepare(Task("D13", "pure", 0))
    grid = [{"p": 32 / 31, "C": 0.1}, {"p": 32 / 31, "C": 1.0}, {"p": 1.2, "C": 1.0}]

    def aucs(tol):
        with monkeypatch.context() as patch:
            patch.setattr(methods, "solve_path", partial(methods.solve_path, tol=tol))
            cells = judge(trial, methods.svdd_path(trial.kernels, grid))
            return np.array([(cell.auc_val, cell.auc) for cell in cells])

    np.testing.assert_allclose(aucs(1e-4), aucs(1e-11), atol=0.5)
    monkeypatch.setattr(methods, "CERTIFIED_RESOLUTION", 1e-15)
    assert np.abs(aucs(1e-4) - aucs(1e-11)).max() > 1.0


def test_uncertified_cells_say_so(monkeypatch):
    monkeypatch.setattr(methods, "solve_path", partial(methods.solve_path, max_iter=1, tol=1e-9))
    method = METHODS["pure", "lp-SVDD"]
    with pytest.warns(ConvergenceWarning):
        cells = method.path(as_kernels(*prepared("wine", "pure")), [{"p": 2.0, "C": 1.0}])
    assert cells[0].status == "not-converged" and cells[0].gap > 1e-9
    assert np.isfinite(cells[0].scores).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_method_has_finite_certified_scores_on_every_shipped_set(name):
    """Thirty rows of each class; of every grid each third cell, the last one first."""
    for setting in ("pure", "negatives"):
        kernels = as_kernels(*prepared(name, setting, 30))
        for (where, _), method in METHODS.items():
            if where != setting:
                continue
            cells = method.path(kernels, method.grid[::-3])
            scored = [cell for cell in cells if cell.scores is not None]
            assert scored, (name, method.name)
            for cell in scored:
                assert np.isfinite(cell.scores).all(), (name, method.name, cell.params)
                assert cell.status in ("optimal", "closed form"), (name, method.name, cell)
