"""Names and signatures that programs outside rely on, and the examples that show them."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import lpsvdd
from lpsvdd import LpSVDD, LpSVDDCV, bounds, conformal, reference, solve, solve_path
from replication import baselines, datasets, weights

KEYWORDS = {
    LpSVDD: "p C C_neg nu kernel gamma degree coef0 surface contamination tol max_iter solver "
            "landmarks",
    LpSVDD.fit: "X y sample_weight",
    LpSVDD.rejection_risk: "beta",
    LpSVDDCV: "p gammas nus criterion cv trim random_state n_jobs",
    solve: "K y p c tol max_iter",
    solve_path: "K y ps cs c_neg",
    reference.solve_dual: "K y p c",
    reference.solve_primal: "K y p c",
    bounds.error_bound: "p slack K margin delta radius_sq B form",
    bounds.rademacher: "K B n_draws random_state",
    bounds.rejection_risk: "k n beta",
    conformal.ConformalDetector: "estimator method",
    lpsvdd.save: "model path",
    lpsvdd.load_model: "path",
    datasets.load: "name",
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("lpsvdd", "replication")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]
WINE = datasets.load("wine")
PARTS = [
    (LpSVDD().fit(WINE.X[WINE.y > 0]), "alpha_ dual_coef_ support_ slack_ radius_sq_ offset_ "
     "gamma_ solver_ duality_gap_ n_iter_ C_ nu_ surface_ status_ tilt_"),
    (solve([[1.0, 0.5], [0.5, 1.0]], p=2.0, c=1.0),
     "alpha centre radius_sq slack primal dual gap n_iter status"),
    (baselines, "KNFST GaussianProcessOCC KernelMean KernelPCAOCC"),
    (weights, "position density global_local"),
    (WINE, "X y name target source"),
]  # fmt: skip


@pytest.mark.parametrize("name", KEYWORDS, ids=lambda one: one.__qualname__)
def test_what_can_be_asked_for_has_its_name(name):
    assert set(KEYWORDS[name].split()) <= set(inspect.signature(name).parameters)


@pytest.mark.parametrize(("thing", "parts"), PARTS, ids=lambda one: type(one).__name__)
def test_what_is_given_has_its_parts(thing, parts):
    assert set(parts.split()) <= set(dir(thing))


def test_the_exponent_and_the_costs_may_be_given_by_position():
    model = LpSVDD(1.5, 0.3, 0.1)
    assert (model.p, model.C, model.C_neg) == (1.5, 0.3, 0.1)
    with pytest.raises(TypeError):
        LpSVDD(1.5, 0.3, 0.1, 0.5)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of them save a file
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert found.attempted > 0 and found.failed == 0
