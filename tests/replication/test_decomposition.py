"""What width, share and exponent are worth, and when p matters: jobs and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from lpsvdd import LpSVDD, exponent_sensitivity, sensitivity
from replication import results, table_sets
from replication.findings import decomposition as worth
from replication.findings import sensitivity as sign
from replication.protocol import auc
from replication.share import solve_share
from replication.studies import decomposition as job
from replication.studies import exponent_sensitivity as sign_job
from replication.studies.tables import TableSplit, TableTask


@pytest.fixture(scope="module")
def data() -> TableSplit:
    rng = np.random.default_rng(0)
    test = np.vstack([rng.normal(size=(40, 2)), 2.0 + rng.normal(size=(40, 2))])
    return TableSplit(rng.normal(size=(60, 2)), test, np.repeat([1, -1], 40))


@pytest.fixture
def drawn(monkeypatch, data):
    for module in (job, sign_job):
        monkeypatch.setattr(module, "draw", lambda task: data)
        monkeypatch.setattr(module, "widths_of", lambda *given: {"rule": 1.0, "chosen": 2.0})
    return data


def test_tuned_cell_is_judged_on_the_half_that_did_not_choose():
    values = np.array([[[1.0, 3.0, 3.0]], [[5.0, 2.0, 4.0]]])  # half, share, p
    assert job.tuned_auc(values) == (2.0 + 1.0) / 2.0  # of the two equal ones the first
    values[0, 0, 1] = np.nan  # not certified: no candidate
    assert job.tuned_auc(values[:, :, :2]) == (5.0 + 1.0) / 2.0
    assert np.isnan(job.tuned_auc(values[:, :, 1:2] * np.nan))


def test_decomposition_starts_at_the_exact_share_and_at_the_estimator(drawn):
    rows = pd.DataFrame(job.decomposition(TableTask("made", 1)))
    assert len(rows) == 2 * 3 and (rows["lost"] <= 1).all()  # of 35 cells a width
    at = rows.set_index(["cost", "width"])
    K, Kz = (np.exp(-cdist(part, drawn.train, "sqeuclidean")) for part in (drawn.train, drawn.test))
    start = solve_share(K, p=2.0, nu=0.1).solution
    parts = [auc((Kz @ start.centre)[h], drawn.y[h]) for h in job.halves(drawn.y)]
    assert at.loc[("exact", "rule"), "v_none"] == pytest.approx(np.mean(parts), abs=0.3)
    model = LpSVDD(gamma=1.0, nu=0.1).fit(drawn.train).score_samples(drawn.test)
    parts = [auc(model[h], drawn.y[h]) for h in job.halves(drawn.y)]
    assert at.loc[("scale", "rule"), "v_none"] == pytest.approx(np.mean(parts), abs=1e-3)


def test_shapley_values_add_up_to_the_whole_gain():
    rng = np.random.default_rng(1)
    names = ["v_none", "v_share", "v_p", "v_both", "v_both5"]
    keys = [(t, d, c, w) for t in "abc" for d in (1, 2) for c in job.COST_RULES
            for w in ("rule", "chosen", "scale", "free")]  # fmt: skip
    rows = pd.DataFrame(keys, columns=["dataset", "trial", "cost", "width"])
    rows[names] = rng.normal(size=(len(rows), len(names)))
    whole = worth.level(rows, "free", "v_both") - worth.level(rows, "rule", "v_none")
    assert np.allclose(worth.shapley(rows).sum(axis=1), whole)
    gains = worth.tuning_gains(rows, "scale")
    both = gains["share"] + gains["p after share"]
    assert np.allclose(both, gains["p"] + gains["share after p"])
    assert set(worth.secondary(rows)["corrected"] >= worth.secondary(rows)["p"]) == {True}


def test_sign_job_has_the_correlation_of_the_public_function(drawn):
    rows = pd.DataFrame(sign_job.exponent_sensitivity_share(TableTask("made", 1)))
    assert rows.filter(regex="loo|held|artificial|test").to_numpy().max() <= 1.0
    own = exponent_sensitivity(drawn.train, gamma=1.0, random_state=1)
    assert own.correlation == pytest.approx(
        rows.set_index("width").loc["rule", "held_1_2"], abs=0.02
    )


def test_correlation_of_constant_scores_is_one_or_missing():
    flat, slope = np.zeros(5), np.arange(5.0)
    assert sign_job.rank_correlation(flat, flat) == 1.0
    assert np.isnan(sign_job.rank_correlation(flat, slope))


def made_signs(n: int) -> pd.DataFrame:
    """Rows in which p matters exactly below a correlation of 0.99, as the held-out sign sees it."""
    r = np.linspace(0.97, 1.0, n)
    off = np.where(r < 0.99, 2.0, 0.1)
    noise = np.random.default_rng(2).permutation(r)
    return pd.DataFrame({
        "dataset": [f"t{k}" for k in range(n)], "width": "rule", "auc_1": 80.0 + off, "auc_2": 80.0,
        "loo_1_2": noise, "held_1_2": r, "artificial_1_2": r,
    })  # fmt: skip


def test_design_takes_the_cheapest_good_sign_and_its_thresholds():
    chosen = sign.design(made_signs(300))
    assert (chosen.candidate, chosen.high, chosen.low) == ("held", 0.99, 0.99)
    assert chosen.areas["held"] == 1.0 and chosen.areas["loo"] < 0.7
    few = sign.design(made_signs(30))  # not 60 pairs: the strictest threshold
    assert few.high == 0.9995


def test_rules_of_the_sign_need_enough_tables():
    chosen = sign.design(made_signs(300))
    many = sign.judged(made_signs(450), chosen, "rule")
    assert sign.same_is_safe(many) and sign.differs_warns(many)
    few = sign.judged(made_signs(45), chosen, "rule")
    assert not sign.same_is_safe(few)
    assert sign.differs_warns(sign.judged(made_signs(20), chosen, "rule")) is None


def test_docstring_of_the_sign_has_the_stored_numbers():
    rows = results.read("exponent_sensitivity_share")
    design, judged = (
        rows[rows["dataset"].isin(table_sets.names(part))] for part in ("design", "judged")
    )
    chosen = sign.design(design)
    limits = sensitivity.SAME_FROM, sensitivity.DIFFERS_BELOW
    assert (chosen.candidate, chosen.high, chosen.low) == ("held", *limits)
    said = " ".join(exponent_sensitivity.__doc__.split())
    at = {w: sign.judged(judged, chosen, w) for w in ("rule", "chosen", "scale")}
    assert sign.same_is_safe(at["rule"]) and sign.same_is_safe(at["chosen"])
    digits_of = {"same": 1, "differs": 0}
    for width, band in [(w, b) for w in at for b in digits_of if (w, b) != ("scale", "differs")]:
        digits = digits_of[band]
        line = at[width].loc[band]
        low, high = (f"{100 * line[end]:.{digits}f}".replace("0.0", "0") for end in ("low", "high"))
        hits = round(line["value"] * line["tables"])
        assert f"{hits} of {line['tables']:.0f}" in said
        assert f"{low} to {high} %" in said
