"""What p does: tables, figures and numbers of the studies of p (plans in ``studies/plans``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE, fraction, heat_map
from replication.claims.exponent import LP, reading_differences, relabelled
from replication.evidence import Difference, compare_over_sets, comparison_of, weighed
from replication.figures import panels
from replication.pages import Facts, decisions, in_order
from replication.pages.layout import colour_of, intervals, set_label
from replication.paper import COSTS, EXPONENTS
from replication.printed import printed_matrix
from replication.statistics import Interval, cluster_interval, mean_matrix, signed, worded
from replication.studies.ranges import WEIGHTED, label
from replication.tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANGE_PAIRS = (
    ("lp, paper's grid", "l1, paper's grid"),
    ("lp, cells feasible for l1", "l1, paper's grid"),
    ("lp, paper's grid", "l1, paper's grid and mean"),
    ("lp, paper's grid", "p = 1, 4 shares"),
    (LP, label(1.0)),
    (LP, label(2.0)),
    ("lp, 400 cells", label(1.0)),
    (label(2.0), label(1.0)),
    (LP, "kernel mean"),
    *((LP, f"{name}, 40 cells") for name in WEIGHTED),
)
"""What H1 names, then the same range for all."""


def range_decisions(common: pd.DataFrame) -> pd.DataFrame:
    """Every comparison over the same range, with interval, equivalence and power."""
    return decisions(common, RANGE_PAIRS)


def draw_fixed(common: pd.DataFrame, narrow: bool) -> Figure:
    """Each fixed p with forty cells minus lp with forty cells; the margin is shaded."""
    ps = (1.0, *EXPONENTS)
    found = pd.DataFrame([vars(comparison_of(common, label(p), LP)) for p in ps])
    figure, (ax,) = panels(1, narrow=narrow, height=0.27 * len(ps) + 1.0)
    names = [f"p = {fraction(p)}" for p in ps]
    colours = [colour_of({1.0: "l1", 2.0: "l2"}.get(p, "lp")) for p in ps]
    intervals(ax, found, labels=names, colours=colours, margin=True)
    ax.set_xlabel("one fixed p minus ℓp, AUC points")
    return figure


STEPS = (
    "on the paper's grid",
    "ℓp without the cells that ℓ1 lacks",
    "ℓ1 gets the kernel mean",
    "ℓ1 gets four shares over the range",
    "forty cells over the range for both",
)
"""What the first five of RANGE_PAIRS change."""


def draw_steps(common: pd.DataFrame, narrow: bool) -> Figure:
    """lp minus l1: on the paper's grid, and after each change of the grid."""
    found = pd.DataFrame([vars(comparison_of(common, *pair)) for pair in RANGE_PAIRS[:5]])
    figure, (ax,) = panels(1, narrow=narrow, height=2.5)
    names = [name.replace(" that", "\nthat").replace(" over", "\nover") for name in STEPS]
    intervals(ax, found, labels=names if narrow else STEPS, margin=True)
    ax.set_xlabel("ℓp minus ℓ1, AUC points")
    return figure


def draw_lead(common: pd.DataFrame, narrow: bool) -> Figure:
    """lp minus l1 by data set: on the paper's grid, which orders them, and over the same range."""
    rows = mean_matrix(common)
    printed = rows[RANGE_PAIRS[0][0]] - rows[RANGE_PAIRS[0][1]]
    same = rows[RANGE_PAIRS[4][0]] - rows[RANGE_PAIRS[4][1]]
    order = printed.sort_values().index
    figure, (ax,) = panels(1, narrow=narrow, height=0.24 * len(order) + 1.1)
    place = np.arange(len(order))
    ax.axvline(0, color="#666666", lw=0.8)
    ax.hlines(place, same[order], printed[order], color="#bbbbbb", lw=1.2)
    ax.scatter(printed[order], place, s=30, facecolors="none", edgecolors=PALETTE["vermillion"])
    ax.scatter(same[order], place, s=30, color=PALETTE["vermillion"])
    ax.set_yticks(place, [set_label(name) for name in order], fontsize=9)
    ax.set_xlabel("AUC points, ℓp − ℓ1")
    top = len(order) - 1
    for values, text, side in ((printed, "paper's grid", "right"), (same, "same range", "left")):
        ax.annotate(
            text, (values[order[-1]], top), xytext=(5 if side == "left" else 8, 8),
            textcoords="offset points", ha=side, fontsize=9, color=PALETTE["vermillion"],
        )  # fmt: skip
    ax.set_ylim(-0.7, top + 1.3)
    ax.grid(axis="y", visible=False)
    return figure


def _plain(found: Difference) -> str:
    """A difference with its interval, without the word that judges it."""
    return worded(Interval(found.mean, found.low, found.high, found.n, found.wins, found.losses))


def range_facts(common: pd.DataFrame, sparsity: pd.DataFrame) -> Facts:
    """Numbers on the same range and on the mechanism of H1."""
    pairs = {pair: comparison_of(common, *pair) for pair in RANGE_PAIRS}
    lead, removed, with_mean, few, _ = (pairs[pair].mean for pair in RANGE_PAIRS[:5])
    splits = common.groupby("dataset")["trial"].nunique()
    last = sparsity.groupby("p")["distance_to_mean"].mean()
    return {
        "range_lead_short": signed(lead),
        "front_lead": _plain(pairs[RANGE_PAIRS[0]]),
        "front_left": _plain(pairs[RANGE_PAIRS[4]]),
        "range_removed_share": 100 * (1 - removed / lead),
        "range_mean_share": 100 * (1 - with_mean / lead),
        "range_few_share": 100 * (1 - few / lead),
        "range_left": weighed(pairs[RANGE_PAIRS[4]]),
        "range_l2": weighed(pairs[RANGE_PAIRS[5]]),
        "range_could_see": pairs[RANGE_PAIRS[4]].detectable,
        "range_splits": f"{splits.min()} to {splits.max()}" if splits.nunique() > 1 else
        f"{splits.min()}",
        "range_sets": len(splits),
        "range_off_mean": 100 * float(last.drop(20.0, errors="ignore").max()),
        "range_off_mean_20": 100 * float(last.get(20.0, np.nan)),
        "range_off_hard": 100 * float(sparsity.groupby("p")["distance_to_hard"].mean().max()),
    }  # fmt: skip


def draw_relabelling(rows: pd.DataFrame, narrow: bool) -> Figure:
    """Median best rank correlation and mean size of the AUC left, by exponent and cost."""
    own = rows[rows["p"] > 1.0]
    figure, axes = panels(2, narrow=narrow, height=3.8)
    shown = (
        ("correlation", "median", "{:.2f}", 0.8, 1.0, "viridis", "rank correlation"),
        ("size", "mean", "{:.1f}", 0.0, 5.0, "viridis_r", "AUC apart, points"),
    )
    for ax, (name, how, form, low, high, colours, title) in zip(axes, shown, strict=True):
        table = own.pivot_table(index="p", columns="c", values=name, aggfunc=how)
        look = {"fmt": form, "vmin": low, "vmax": high, "cmap": colours, "colorbar": False}
        ps = [min(EXPONENTS, key=lambda q, p=p: abs(q - p)) for p in table.index]  # stored rounded
        heat_map(table.to_numpy(), ps=ps, cs=COSTS, ax=ax, **look)
        ax.set_title(title)
    return figure


def relabelling_facts(rows: pd.DataFrame) -> Facts:
    """How far p is a relabelling of nu."""
    own, control = rows[rows["p"] > 1.0], rows[rows["p"] == 1.0]
    table = relabelled(rows)
    left = compare_over_sets(own.groupby("dataset", sort=False)["left"].mean())
    wide = own.groupby("dataset")["size"].mean()
    return {
        "relabel_median": float(own["correlation"].median()),
        "relabel_low": float(own["correlation"].quantile(0.05)),
        "relabel_size": float(own["size"].mean()),
        "relabel_control": float(control["size"].mean()),
        "relabel_left": weighed(left),
        "front_relabel": _plain(left),
        "relabel_share": 100 * float(table["relabels"].mean()),
        "relabel_most": ", ".join(f"{n} {wide[n]:.1f}" for n in wide.nlargest(3).index),
    }


CONDITION_NAMES = {
    "as is": "as in the tables",
    "validation 0.5": "half of the validation rows",
    "validation 0.25": "a quarter of the validation rows",
    "n = 40": "40 training rows",
    "n = 20": "20 training rows",
    "n = 10": "10 training rows",
    "contamination 0.05": "5 % unmarked outliers",
    "contamination 0.1": "10 % unmarked outliers",
    "contamination 0.2": "20 % unmarked outliers",
    "tails 1": "heavy tails",
    "tails 2": "heavier tails",
}
"""The conditions of the study in the order and words of the chapter."""


def _by_condition(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of every condition by its name; one without a name keeps that of the table."""
    known = set(rows["condition"])
    order = [c for c in CONDITION_NAMES if c in known]
    order += [c for c in dict.fromkeys(rows["condition"]) if c not in CONDITION_NAMES]
    return {CONDITION_NAMES.get(c, c): rows[rows["condition"] == c] for c in order}


def condition_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The map: lp minus l1 and minus l2 under every condition, with what each difference says."""
    lines = []
    for condition, part in _by_condition(rows).items():
        line = {"condition": condition, "sets": part["dataset"].nunique()}
        for name, other in (("ℓ1", label(1.0)), ("ℓ2", label(2.0)), ("mean", "kernel mean")):
            found = comparison_of(part, LP, other)
            line[f"ℓp − {name}"] = (
                f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})"
            )
            line[f"says ({name})"] = found.state
            if name == "ℓ1":
                line["could see"] = round(found.detectable, 2)
        lines.append(line)
    return pd.DataFrame(lines).set_index("condition")


def draw_conditions(rows: pd.DataFrame, narrow: bool) -> Figure:
    """lp minus l1 and minus l2 under every condition."""
    others = (("ℓp − ℓ1", label(1.0)), ("ℓp − ℓ2", label(2.0)))
    parts = _by_condition(rows)
    names = [name.replace(" of the ", " of the\n") for name in parts] if narrow else list(parts)
    height = (0.33 if narrow else 0.27) * len(parts) + 1.0
    figure, axes = panels(2, narrow=narrow, height=height, sharex=True)
    for number, (ax, (title, other)) in enumerate(zip(axes, others, strict=True)):
        found = pd.DataFrame([vars(comparison_of(part, LP, other)) for part in parts.values()])
        intervals(ax, found, labels=names, margin=True)
        ax.set_title(title)
        ax.set_xlabel("AUC points")
        if number and not narrow:
            ax.tick_params(labelleft=False)
    return figure


def condition_facts(rows: pd.DataFrame) -> Facts:
    """Under how many conditions p helps."""
    table = condition_table(rows)
    helps = [c for c in table.index if table.loc[c, "says (ℓ1)"].startswith("higher")]
    hurts = [c for c in table.index if table.loc[c, "says (ℓ1)"].startswith("lower")]
    same = table["says (ℓ1)"].str.contains("equivalent")
    quarter = rows[rows["condition"] == "validation 0.25"]
    return {
        "condition_quarter_l1": weighed(comparison_of(quarter, LP, label(1.0))),
        "condition_quarter_l2": weighed(comparison_of(quarter, LP, label(2.0))),
        "condition_count": len(table),
        "condition_helps": ", ".join(helps) or "none",
        "condition_hurts": ", ".join(hurts) or "none",
        "condition_same": int(same.sum()),
        "condition_see": f"{table['could see'].min():.1f} to {table['could see'].max():.1f}",
        "condition_splits": int(rows.groupby("dataset")["trial"].nunique().min()),
    }


def reading_table() -> pd.DataFrame:
    """Change of every column under the two other readings, without and with negatives."""
    lines = {}
    for table, mark in (("radius_pure", ""), ("radius_negatives", "⁻")):
        for reading, title in (("nonnegative", "R² ≥ 0"), ("half cost", "half cost")):
            for name, found in reading_differences(reading, table).items():
                line = lines.setdefault(method_label(name) + mark, {})
                line[f"{title} − free"] = (
                    f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})"
                )
                line[f"{title}: says"] = found.state
    return pd.DataFrame(lines).T.fillna("–").rename_axis("method")


def draw_readings(narrow: bool) -> Figure:
    """Change of each column under the two other readings."""
    titles = {"nonnegative": "R² ≥ 0 instead of free", "half cost": "half of every cost"}
    figure, axes = panels(2, narrow=narrow, height=2.6)
    for ax, (reading, title) in zip(axes, titles.items(), strict=True):
        found = {
            method_label(name) + mark: vars(difference)
            for table, mark in (("radius_pure", ""), ("radius_negatives", "⁻"))
            for name, difference in reading_differences(reading, table).items()
        }
        lines = pd.DataFrame(found.values())
        colours = [colour_of("l" + name[1:]) for name in found]
        intervals(ax, lines, labels=list(found), colours=colours, margin=True)
        ax.set_title(title)
        ax.set_xlabel("AUC points")
    return figure


def reading_facts(pure: pd.DataFrame, negatives: pd.DataFrame) -> Facts:
    """The lead of lp over l1 and l2 under each reading, and which reading is nearer to print."""
    facts = {}
    for mark, rows in (("", pure), ("_neg", negatives)):
        for reading, key in (("free", "free"), ("nonnegative", "kept")):
            for other in ("l1-SVDD", "l2-SVDD"):
                found = comparison_of(rows, f"lp-SVDD, {reading}", f"{other}, {reading}")
                facts[f"reading_{other[:2]}_{key}{mark}"] = weighed(found)
    printed = printed_matrix("pure")
    means = mean_matrix(pure.rename(columns={"contestant": "method"}))
    apart = {
        reading: sum(
            (means[f"{name}, {reading}"] - printed[name]).abs()
            for name in ("l1-SVDD", "l2-SVDD", "lp-SVDD")
        )
        / 3
        for reading in ("free", "nonnegative")
    }
    return facts | {
        "reading_apart_free": float(apart["free"].mean()),
        "reading_apart_kept": float(apart["nonnegative"].mean()),
    }


def sparsity_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean share of support vectors in percent at the same share outside, by exponent."""
    columns = [name for name in rows if name.startswith("support_at_")]
    table = 100 * rows.groupby("p")[columns].mean()
    table.columns = [f"{100 * float(c.removeprefix('support_at_')):.0f} % outside" for c in columns]
    table["least share outside, %"] = 100 * rows.groupby("p")["least_outside"].mean()
    return table


def draw_sparsity(rows: pd.DataFrame, narrow: bool) -> Figure:
    """Support vectors against the share outside, one line for each of some exponents."""
    columns = [name for name in rows if name.startswith("support_at_")]
    shares = [100 * float(name.removeprefix("support_at_")) for name in columns]
    table = 100 * rows.groupby("p")[columns].mean()
    figure, (ax,) = panels(1, narrow=narrow, height=3.4)
    ax.plot([0, 100], [0, 100], color="#999999", lw=0.8)
    look = {1.0: ("o-", colour_of("l1")), 2.0: ("D-", colour_of("l2"))}
    for p in (1.0, 16 / 15, 4 / 3, 2.0):
        nearest = min(table.index, key=lambda q, p=p: abs(q - p))
        style, colour = look.get(p, ("s-", colour_of("lp")))
        alpha = 0.5 if p == 16 / 15 else 1.0
        name = f"p = {fraction(p)}"
        ax.plot(shares, table.loc[nearest], style, color=colour, alpha=alpha, label=name)
    ax.set(xlabel="points outside, %", ylabel="support vectors, %", xlim=(0, 100), ylim=(0, 103))
    ax.legend(loc="lower right")
    return figure


def validation_facts(rows: pd.DataFrame) -> Facts:
    """Quarter, half and full validation set."""
    facts = {}
    for key, name in (("lp", "lp, paper's grid"), ("l1", label(1.0))):
        for word, size in (("half", 0.5), ("quarter", 0.25)):
            pair = (f"{name}, validation {share}" for share in (1, size))
            facts[f"validation_{word}_{key}"] = weighed(comparison_of(rows, *pair))
    both = (f"{name}, validation 0.25" for name in ("lp, paper's grid", label(1.0)))
    facts["validation_quarter_both"] = weighed(comparison_of(rows, *both))
    return facts | {"validation_splits": int(rows.groupby("dataset")["trial"].nunique().min())}


def hypothesis_facts(fixed: pd.DataFrame, waves: pd.DataFrame, weights: pd.DataFrame) -> Facts:
    """l2 at one cost, D8, and the density weights, each against what did not suggest it."""
    rows = fixed.rename(columns={"contestant": "method"})
    printed = printed_matrix("negatives", corrected=True)
    means = mean_matrix(rows[rows["setting"] == "negatives"])
    names = ["l2, tuned", *(f"l2, c = {c:g}" for c in COSTS)]
    apart = {name: (means[name] - printed["l2-SVDD-"]).abs().dropna() for name in names}
    nearer = cluster_interval(apart["l2, tuned"] - apart["l2, c = 0.1"])
    nearest = min(apart, key=lambda name: apart[name].mean())
    supported = nearer.low > 0 and nearest == "l2, c = 0.1"
    pure = mean_matrix(rows[rows["setting"] == "pure"])
    profile = printed_matrix("pure")
    profile = profile["lp-SVDD"] - profile["l2-SVDD"]
    equal = weights.pivot(index="form", columns="dataset", values="equal")
    inside, total = wave_inside(waves)
    return {
        "fixed_each": ", ".join(
            f"{name.replace('l2', 'ℓ2')} {apart[name].mean():.1f}" for name in names
        ),
        "fixed_verdict": "supported" if supported else "not supported",
        "fixed_corr": float((pure["lp, tuned"] - pure["l2, c = 0.1"]).corr(profile)),
        "fixed_corr_tuned": float((pure["lp, tuned"] - pure["l2, tuned"]).corr(profile)),
        "wave_each": "; ".join(
            f"class {target}: {pure_:.1f} and {neg:.1f}"
            for target, (pure_, neg) in waveform_distances(waves).iterrows()
        ),
        "wave_inside": f"{inside} of {total}",
        "wave_class": class_that_fits(waves) or "none",
        "wave_draw": "supported" if 2 * inside >= total else "not supported",
        "density_forms": len(equal),
    }


def waveform_distances(waves: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute distance from the printed row of D8, by target class and setting."""
    out = {}
    for setting, unused in (("pure", ["lp-SVDD"]), ("negatives", [])):
        row = printed_matrix(setting, corrected=True).loc["D8"].drop(unused)
        part = waves[waves["setting"] == setting]
        means = part.groupby(["target", "method"])["auc"].mean().unstack("method")
        out[setting] = (means[row.index] - row).abs().mean(axis=1)
    return pd.DataFrame(out)


def class_that_fits(waves: pd.DataFrame, near: float = 3.0) -> str:
    """The target class that is nearest, and within ``near`` points, in both tables; or ""."""
    apart = waveform_distances(waves)
    nearest = apart["pure"].idxmin()
    fits = nearest == apart["negatives"].idxmin() and (apart.loc[nearest] <= near).all()
    return str(nearest) if fits else ""


def wave_inside(waves: pd.DataFrame) -> tuple[int, int]:
    """For class 0: how many printed values lie within the range of the draws, and of how many."""
    inside = total = 0
    for setting in ("pure", "negatives"):
        row = printed_matrix(setting, corrected=True).loc["D8"]
        part = waves[(waves["setting"] == setting) & (waves["target"].astype(str) == "0")]
        ends = part.groupby(["method", "draw"])["auc"].mean().groupby("method").agg(["min", "max"])
        for name, value in row.items():
            total += 1
            inside += bool(ends.loc[name, "min"] <= value <= ends.loc[name, "max"])
    return inside, total


def density_table(weights: pd.DataFrame) -> pd.DataFrame:
    """Share of splits on which a density weight gives the AUC of l1, per form and set, in %."""
    table = 100 * weights.pivot(index="form", columns="dataset", values="equal")
    return table[in_order(table.columns)]
