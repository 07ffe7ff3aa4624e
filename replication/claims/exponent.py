"""Checks of what p does, against the studies of p; rules as in ``studies/plans``."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from replication.claims.ledger import Outcome, check, stored
from replication.evidence import (
    MARGIN,
    compare_over_sets,
    comparison_of,
    difference_by_set,
    weighed,
)
from replication.paper import EXPONENTS
from replication.statistics import cluster_interval, signed, trial_matrix, worded
from replication.studies.ranges import TARGETS, label
from replication.tables import method_label

LP = "lp, 40 cells"
IDENTICAL = ("D1", "D5", "D10", "D17")
"""Where DW-SVDD and l1-SVDD agree in print, in mean and deviation."""


@check
def slack_norm_or_grid() -> Outcome:
    """What is left of lp's lead over l1 when both have forty cells over the same range.

    Holds when the interval of what is left lies above zero and it is at least half of the lead,
    partly when only the first. ``removed`` is what H1 named: cells that are infeasible for l1.
    """
    rows = stored("common_range")
    lead = comparison_of(rows, "lp, paper's grid", "l1, paper's grid")
    left = comparison_of(rows, LP, label(1.0))
    removed = comparison_of(rows, "lp, cells feasible for l1", "l1, paper's grid")
    with_mean = comparison_of(rows, "lp, paper's grid", "l1, paper's grid and mean")
    few = comparison_of(rows, "lp, paper's grid", "p = 1, 4 shares")
    facts = {
        "lead": weighed(lead),
        "left": weighed(left),
        "removed": weighed(removed),
        "with_mean": weighed(with_mean),
        "few": weighed(few),
        "detectable": left.detectable,
    }
    if left.low > 0 and left.mean >= lead.mean / 2:
        return Outcome("holds", facts)
    return Outcome("holds partly" if left.low > 0 else "not reproduced", facts)


@check
def tuned_exponent() -> Outcome:
    """lp with forty cells over ten exponents against each fixed p with forty cells."""
    rows = stored("common_range")
    found = {p: comparison_of(rows, LP, label(p)) for p in (1.0, *EXPONENTS)}
    above = [p for p, difference in found.items() if difference.low > 0]
    best = min(found, key=lambda p: found[p].mean)
    facts = {
        "above": len(above),
        "same": sum(difference.equivalent for difference in found.values()),
        "total": len(found),
        "best": f"{best:.4g}",
        "over_best": weighed(found[best]),
        "over_1": weighed(found[1.0]),
        "over_2": weighed(found[2.0]),
    }
    if len(above) == len(found):
        return Outcome("holds", facts)
    return Outcome("holds partly" if above and best not in above else "not reproduced", facts)


@check
def other_norms_than_l1() -> Outcome:
    """Is any fixed p > 1 better than p = 1 over the same range? Ten comparisons, Bonferroni."""
    rows = stored("common_range")
    level = 1 - 0.05 / len(EXPONENTS)
    found = {
        p: cluster_interval(difference_by_set(rows, label(p), label(1.0)), level=level)
        for p in EXPONENTS
    }
    best = max(found, key=lambda p: found[p].mean)
    facts = {"best": f"{best:.4g}", "gain": worded(found[best])}
    better = [p for p in EXPONENTS if found[p].low > 0]
    return Outcome("holds" if better else "not reproduced", facts | {"better": len(better)})


def _clearly_above(difference: pd.Series, points: float, comparisons: int) -> dict[str, float]:
    """Data sets whose mean difference exceeds ``points`` with a t interval over splits above 0."""
    found = {}
    for name, part in difference.groupby("dataset", sort=False):
        mean, spread = float(part.mean()), float(part.std() / np.sqrt(len(part)))
        low = mean - stats.t.ppf(1 - 0.025 / comparisons, len(part) - 1) * spread
        if low > 0 and mean > points:
            found[name] = mean
    return found


@check
def l2_not_always_best(points: float = MARGIN) -> Outcome:
    """Data sets on which p = 2 is beaten by more than ``points``, Bonferroni over comparisons.

    Holds when another fixed p beats it over the same range, partly when only lp does on the
    paper's grid.
    """
    matrix = trial_matrix(stored("common_range"))
    sets = matrix.index.get_level_values("dataset").nunique()
    others = [p for p in (1.0, *EXPONENTS) if p != 2.0]
    beaten: dict[str, float] = {}
    for p in others:
        gain = matrix[label(p)] - matrix[label(2.0)]
        beaten |= _clearly_above(gain, points, sets * len(others))
    paper = trial_matrix(stored("pure"))
    on_paper = _clearly_above(paper["lp-SVDD"] - paper["l2-SVDD"], points, sets)
    facts = {
        "sets": ", ".join(f"{name} {signed(value)}" for name, value in beaten.items()) or "none",
        "count": len(beaten),
        "total": sets,
        "splits": int(matrix.groupby("dataset").size().min()),
        "paper": ", ".join(f"{name} {signed(value)}" for name, value in on_paper.items()) or "none",
    }
    if beaten:
        return Outcome("holds", facts)
    return Outcome("holds partly" if on_paper else "not reproduced", facts)


@check
def weights_over_the_same_range(over: list[str]) -> Outcome:
    """lp against the weighted methods, each with forty cells over the same shares."""
    rows = stored("common_range")
    found = {name: comparison_of(rows, LP, f"{name}, 40 cells") for name in over}
    above = [name for name, difference in found.items() if difference.low > 0]
    facts = {"each": "; ".join(f"{method_label(n)} {weighed(d)}" for n, d in found.items())}
    partly = "holds partly" if above else "not reproduced"
    return Outcome("holds" if len(above) == len(over) else partly, facts)


@check
def larger_validation_set() -> Outcome:
    """Full, half and quarter of the validation rows for choosing p and c."""
    rows = stored("validation_size")
    name = "lp, paper's grid, validation {}"
    half = comparison_of(rows, name.format(1), name.format(0.5))
    quarter = comparison_of(rows, name.format(1), name.format(0.25))
    facts = {"half": weighed(half), "quarter": weighed(quarter)}
    if half.low > 0:
        return Outcome("holds", facts)
    if half.equivalent or half.high < 0:
        return Outcome("not reproduced", facts)
    return Outcome("holds partly" if quarter.low > 0 else "not reproduced", facts)


def relabelled(rows: pd.DataFrame) -> pd.DataFrame:
    """Per set and width: median correlation over the cells and mean absolute AUC left."""
    own = rows[rows["p"] > 1.0]
    table = own.groupby(["dataset", "width"], sort=False).agg(
        correlation=("correlation", "median"), size=("size", "mean"), left=("left", "mean")
    )
    table["relabels"] = (table["correlation"] >= 0.99) & (table["size"] < MARGIN)
    return table.reset_index()


@check
def capacity_beyond_nu() -> Outcome:
    """Does (p, c) rank test points in ways that no nu of l1 does, and is that worth anything?

    Not reproduced when p relabels nu on every set and width (rule of the plan); holds when for
    some exponent the AUC left over its l1 match has an interval above the margin; else partly.
    """
    rows = stored("relabelling")
    table = relabelled(rows)
    own = rows[rows["p"] > 1.0]
    left = {
        p: compare_over_sets(part.groupby("dataset", sort=False)["left"].mean())
        for p, part in own.groupby("p")
    }
    best = max(left.values(), key=lambda found: found.mean)
    facts = {
        "share": 100 * table["relabels"].mean(),
        "pairs": len(table),
        "correlation": float(own["correlation"].median()),
        "low": float(own["correlation"].quantile(0.05)),
        "size": float(own["size"].mean()),
        "control": float(rows[rows["p"] == 1.0]["size"].mean()),
        "left": weighed(compare_over_sets(own.groupby("dataset", sort=False)["left"].mean())),
    }
    if table["relabels"].all():
        return Outcome("not reproduced", facts)
    return Outcome("holds" if best.low > MARGIN else "holds partly", facts)


@check
def sparsity_at_matched_shares() -> Outcome:
    """Support vectors at the same share outside: p > 1 against p = 1, and along p > 1."""
    rows = stored("matched_sparsity")
    lower, rising, lines = [], [], []
    for target in TARGETS:
        column = f"support_at_{target:g}"
        table = rows.groupby(["dataset", "p"])[column].mean().unstack("p").dropna(axis=1, how="all")
        pairs = {p: (table[p] - table[1.0]).dropna() for p in table if p > 1.0}
        known = {p: cluster_interval(values) for p, values in pairs.items() if len(values) > 3}
        lower += [found.high < 0 for found in known.values()]
        if known:
            ps = sorted(known)
            both = (table[ps[-1]] - table[ps[0]]).dropna()
            rising.append(len(both) > 3 and cluster_interval(both).high < 0)
            p = min(known, key=lambda q: abs(q - 2.0))
            shared = pairs[p].index
            lines.append(
                f"{100 * target:.0f} % outside: p = 1 {100 * table.loc[shared, 1.0].mean():.0f} %, "
                f"p = {p:.3g} {100 * table.loc[shared, p].mean():.0f} % ({len(shared)} sets)"
            )
    facts = {"each": "; ".join(lines)}
    if lower and all(lower) and all(rising):
        return Outcome("holds", facts)
    return Outcome("holds partly" if sum(lower) > len(lower) / 2 else "not reproduced", facts)


def reading_differences(reading: str, table: str) -> dict[str, object]:
    """Reading minus free, per method of a table of ``radius_rule``."""
    rows = stored(table)
    names = [m.removesuffix(f", {reading}") for m in rows["method"].unique() if m.endswith(reading)]
    return {n: comparison_of(rows, f"{n}, {reading}", f"{n}, free") for n in names}


@check
def reading_changes(reading: str) -> Outcome:
    """Do the two tables depend on the reading? Holds when no method's column moves.

    A column moves when the interval of its mean change excludes zero and is not inside the margin;
    partly when some move and lp's do not.
    """
    found = {
        (name, mark): difference
        for table, mark in (("radius_pure", ""), ("radius_negatives", "⁻"))
        for name, difference in reading_differences(reading, table).items()
    }
    moved = [key for key, d in found.items() if d.exists and not d.equivalent]
    largest = max(found, key=lambda key: abs(found[key].mean))
    named = {key: f"{method_label(key[0])}{key[1]}" for key in found}
    facts = {
        "count": len(moved),
        "total": len(found),
        "moved": ", ".join(named[key] for key in moved) or "none",
        "largest": f"{named[largest]} by {worded_difference(found[largest])}",
        "own": worded_difference(found["lp-SVDD", ""]),
        "lead_free": weighed(
            comparison_of(stored("radius_pure"), "lp-SVDD, free", "l1-SVDD, free")
        ),
    }
    if reading == "nonnegative":
        rows = stored("radius_pure")
        facts["lead"] = weighed(comparison_of(rows, "lp-SVDD, nonnegative", "l1-SVDD, nonnegative"))
    if not moved:
        return Outcome("holds", facts)
    lp = any(name == "lp-SVDD" for name, _ in moved)
    return Outcome("not reproduced" if lp else "holds partly", facts)


def worded_difference(found) -> str:
    """Mean and interval of a difference, two digits."""
    return f"{signed(found.mean, 2)} [{signed(found.low, 2)}, {signed(found.high, 2)}]"


@check
def density_equals_l1() -> Outcome:
    """A density weight for which DW-SVDD equals l1-SVDD on the four sets on which print does.

    Holds for a form that does so there and nowhere else, partly for one that does so elsewhere too.
    """
    table = stored("density_weights")
    equal = table.pivot(index="form", columns="dataset", values="equal") == 1.0
    known = [name for name in IDENTICAL if name in equal]
    there = equal[known].all(axis=1) & (len(known) > 0)
    only = there & (equal.sum(axis=1) == len(known))
    best = equal[known].sum(axis=1).idxmax()
    facts = {
        "forms": len(equal),
        "best": best,
        "on": int(equal.loc[best, known].sum()),
        "share": 100 * float(table.query("form == @best and dataset in @known")["equal"].mean()),
    }
    if only.any():
        return Outcome("holds", facts)
    return Outcome("holds partly" if there.any() else "not reproduced", facts)
