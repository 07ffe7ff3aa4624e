"""Hundreds of other tables: what p, the choice of width and a promised rate are worth there.

Tables: ``tables_exponents``, ``tables_contest``, ``tables_rates``; rules in
``studies/plans/tables.md``. Design tables choose, judged tables decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.selection import KINDS
from replication import table_sets
from replication.evidence import MARGIN, as_table, compare_over_sets, weighed
from replication.figures import GREY, Draw, exponent_colour, interval_figure, panels
from replication.findings import Finding, finding
from replication.findings.same_rule import said
from replication.statistics import calibrated_quantile, cluster_interval, cluster_of, ratio_error
from replication.wording import worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN, DEFAULT = "LpSVDDCV", "LpSVDD()"
OTHERS = ("1", "1.2", "5", "20", "mean")
THRESHOLDS = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0)
CHOSEN, SHARE = "chosen", 0.1
LEAST_GAIN, LEAST_SAVED = 0.1, 0.25  # rule 8 of the plan
PROPERTIES = ("features", "rows", "few_values", "copies", "outside")
COLLECTIONS = ("oddbench", "ovrbench")


def of_part(rows: pd.DataFrame, part: str = "judged") -> pd.DataFrame:
    """Rows of the design or of the judged tables; of a made-up table, all."""
    known = table_sets.records()["part"]
    return rows[[known.get(name, part) == part for name in rows["dataset"]]]


def at(rows: pd.DataFrame, width: str = CHOSEN, share: float = SHARE) -> pd.DataFrame:
    """One line a table: every exponent at a width and a share."""
    return rows[(rows["width"] == width) & (rows["share"] == share)].set_index("dataset")


def beside_two(table: pd.DataFrame) -> pd.DataFrame:
    """AUC of every other exponent and of the kernel mean minus that of p = 2."""
    return pd.DataFrame({p: table[f"auc_{p}"] - table["auc_2"] for p in OTHERS})


def covered(values: pd.Series, draws: int = 2000) -> float:
    """Per cent of draws of clusters whose 95 % interval holds the mean of all.

    Where few tables make the mean, a draw without them does not know of it.
    """
    groups = values.groupby([cluster_of(name) for name in values.index])
    sums, sizes = groups.sum().to_numpy(), groups.size().to_numpy()
    drawn = np.random.default_rng(0).integers(len(sums), size=(draws, len(sums)))
    sums, sizes = sums[drawn], sizes[drawn]
    away = np.abs(sums.sum(axis=1) / sizes.sum(axis=1) - values.mean())
    half = calibrated_quantile(0.95, sums.shape[1]) * ratio_error(sums, sizes)
    return 100 * float((away <= half + 1e-12).mean())


# -- question 1 ------------------------------------------------------------------------------------


@finding("tables_exponents")
def tables_p(rows: pd.DataFrame) -> Finding:
    """p at the same width and share: differences, sizes, rankings, and what labels would gain."""
    judged, lines = of_part(rows), {}
    for (width, share), part in judged.groupby(["width", "share"], sort=False):
        part = part.set_index("dataset")
        off = beside_two(part)
        for p in OTHERS:
            found = compare_over_sets(off[p])
            size, far = off[p].abs(), 100 * float((off[p].abs() > 2.0).mean())
            lines[width, share, p] = {
                "mean": found.mean, "low": found.low, "high": found.high, "says": found.state,
                "size": size.mean(), "above half a point": 100 * float((size > MARGIN).mean()),
                "above two": far, "correlation": part[f"rank_{p}"].median(),
            }  # fmt: skip
    table = pd.DataFrame(lines).T.rename_axis(["width", "share", "p"])
    head, gains = at(judged), {}
    for width in ("quarter-mean-distance", "scale", CHOSEN):
        gains[width] = cluster_interval(at(judged, width)["gain"])
    off = beside_two(head)
    exponents = off.drop(columns="mean")
    facts = {
        "tables": len(head),
        "designed": of_part(rows, "design")["dataset"].nunique(),
        "rows": int(rows["rows"].max()),
        "auc": float(head["auc_2"].mean()),
        "equivalent": [p for p in OTHERS if compare_over_sets(off[p]).equivalent],
        "gain": worded(gains[CHOSEN]),
        "gain_rule": worded(gains["quarter-mean-distance"]),
        "gain_scale": worded(gains["scale"]),
        "gain_many": worded(cluster_interval(at(judged, share=0.3)["gain"])),
        "gain_rule_many": worded(
            cluster_interval(at(judged, "quarter-mean-distance", 0.3)["gain"])
        ),
        "cannot_pay": [width for width, one in gains.items() if one.high < MARGIN],
        "can_pay": [width for width, one in gains.items() if one.low > MARGIN],
        "size": float(exponents.abs().mean().max()),
        "largest": float(exponents.abs().to_numpy().max()),
        "far": int((exponents.abs() >= 2.0).any(axis=1).sum()),
        "confirmed": confirmed(rows),
    }
    many = beside_two(at(judged, "scale", 0.3))
    for p in ("5", "20"):
        facts[f"worst_{p}"] = worded(compare_over_sets(many[p]))
    for p in OTHERS:
        name = p.replace(".", "_")
        facts[f"over_{name}"] = worded(compare_over_sets(off[p]))
        facts[f"size_{name}"] = float(off[p].abs().mean())
        facts[f"covered_{name}"] = covered(off[p])
        facts[f"without_{name}"] = worded(cluster_interval(off[p].drop(off[p].abs().idxmax())))
        facts[f"rank_{name}"] = float(head[f"rank_{p}"].median())
        facts[f"scale_{name}"] = worded(compare_over_sets(beside_two(at(judged, "scale"))[p]))
    return Finding("", facts, table, draw_dots(exponents))


def confirmed(rows: pd.DataFrame) -> list[str]:
    """Rule 3: properties under which p is worth half a point on design and judged tables."""
    found = []
    for width in dict.fromkeys(rows["width"]):
        halves = [at(of_part(rows, part), width) for part in ("design", "judged")]
        groups = {
            name: [one[one.index.str.startswith(name)] for one in halves] for name in COLLECTIONS
        }
        for name in (*PROPERTIES, "auc_2"):
            cuts = halves[0][name].quantile([0.0, 1 / 3, 2 / 3, 1.0]).tolist()
            cuts[0], cuts[-1] = -np.inf, np.inf
            for low, high in zip(cuts[:-1], cuts[1:], strict=True):
                parts = [one[one[name].between(low, high)] for one in halves]
                groups[f"{name} from {low:.3g} to {high:.3g}"] = parts
        for group, parts in groups.items():
            for p in OTHERS[:-1]:
                both = [compare_over_sets(beside_two(one)[p]) for one in parts if len(one) > 1]
                signs = {np.sign(one.mean) for one in both}
                large = all(one.exists and abs(one.mean) >= MARGIN for one in both)
                if len(both) == 2 and large and len(signs) == 1:
                    found.append(f"p = {p}, {width}, {group}")
    return found


def draw_dots(off: pd.DataFrame) -> Draw:
    """One dot a table: AUC of each p minus that of p = 2, sorted by size within a line."""
    spread = np.random.default_rng(0).uniform(-0.32, 0.32, size=len(off))

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.2)
        ax.axvspan(-MARGIN, MARGIN, color="#dddddd", lw=0, zorder=0)
        for place, p in enumerate(reversed(list(off))):
            look = {"s": 6, "alpha": 0.5, "color": exponent_colour(float(p)), "lw": 0}
            ax.scatter(off[p], place + spread, **look)
            ax.plot([off[p].mean()] * 2, [place - 0.4, place + 0.4], color="black", lw=2)
        ax.set_yticks(range(off.shape[1]), [f"p = {p}" for p in reversed(list(off))])
        ax.set_xscale("symlog", linthresh=1.0)
        ticks = [-10, -2, -0.5, 0, 0.5, 2, 10]
        ax.set_xticks(ticks, [f"{t:g}".replace("-", "−") for t in ticks])
        ax.set_xticks([], minor=True)
        ax.set(xlabel="AUC minus that of p = 2, points")
        ax.grid(axis="y", visible=False)
        return figure

    return draw


# -- question 2 ------------------------------------------------------------------------------------


def widths_of(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of LpSVDD at a width, the default among them, widest kernel first."""
    some = rows[rows["width"].notna() & (rows["width"] != "")]
    return some.assign(order=pd.to_numeric(some["width"], errors="coerce").fillna(0.0)).sort_values(
        ["dataset", "order"]
    )


def pick(rows: pd.DataFrame, score: Callable[[pd.DataFrame], pd.Series]) -> pd.Series:
    """AUC by table of the width (of the grid) with the largest score; the widest among equals."""
    grid = widths_of(rows)
    grid = grid[grid["order"] > 0.0]
    grid = grid.assign(score=score(grid))
    return grid.loc[grid.groupby("dataset")["score"].idxmax()].set_index("dataset")["auc"]


def standard(values: pd.Series, by: pd.Series) -> pd.Series:
    """Values standardised within a table; 0 where they are all equal."""
    groups = values.groupby(by)
    return ((values - groups.transform("mean")) / groups.transform("std", ddof=0)).fillna(0.0)


def fallback(rows: pd.DataFrame, threshold: float) -> pd.Series:
    """AUC by table: the chosen width, or the default one where the evidence is weak."""
    grid = widths_of(rows)
    default = grid[grid["width"] == "default"].set_index("dataset")["auc"]
    grid = grid[grid["order"] > 0.0]
    best = grid.loc[grid.groupby("dataset")["criterion"].idxmax()].set_index("dataset")
    return best["auc"].where(best["evidence"] > threshold, default)


def candidates(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Rule 8: every other way to choose the width, AUC by table."""
    found = {f"fallback {t:g}": fallback(rows, t) for t in THRESHOLDS}
    found["with likelihood"] = pick(
        rows, lambda g: sum(standard(g[c], g["dataset"]) for c in ("criterion", "likelihood"))
    )
    kinds = list(KINDS)
    for kind in kinds:
        rest = [one for one in kinds if one != kind]
        found[f"without {kind}"] = pick(rows, lambda g, rest=rest: g[rest].mean(axis=1))
    for name, inside in (("without 1", lambda g: g["order"] > 1.0),
                         ("without 64", lambda g: g["order"] < 64.0)):  # fmt: skip
        found[name] = pick(rows, lambda g, inside=inside: g["criterion"].where(inside(g), -np.inf))
    return found


def judged_candidate(rows: pd.DataFrame) -> str:
    """The candidate that the design tables choose, by rule 8."""
    design = of_part(rows, "design")
    own = design[design["method"] == OWN].set_index("dataset")["auc"]
    gains = {name: (one - own).mean() for name, one in candidates(design).items()}
    best = max(gains, key=gains.__getitem__)
    if gains[best] >= LEAST_GAIN:
        return best
    safe = [t for t in THRESHOLDS if gains[f"fallback {t:g}"] > -LEAST_GAIN]
    return f"fallback {max(safe, default=0.0):g}"


@finding("tables_contest")
def tables_width(rows: pd.DataFrame) -> Finding:
    """LpSVDDCV beside the others, regrets, when tuning pays, and the one candidate judged."""
    judged = of_part(rows)
    auc = judged.pivot(index="dataset", columns="method", values="auc")
    others = [m for m in dict.fromkeys(judged["method"]) if m != OWN and "width " not in m[:6]]
    found = {f"{OWN} − {m}": compare_over_sets(auc[OWN] - auc[m]) for m in others}
    plain = [m for m in others if "chosen" not in m and m != DEFAULT]
    found |= {f"{DEFAULT} − {m}": compare_over_sets(auc[DEFAULT] - auc[m]) for m in plain}
    grid = auc[[m for m in auc if m.startswith("width ")] + [DEFAULT]]
    name = judged_candidate(rows)
    new = candidates(judged)[name].reindex(auc.index)
    gain = compare_over_sets(new - auc[OWN])
    cost = {k: float(np.maximum(auc[DEFAULT] - v, 0).mean()) for k, v in
            (("old", auc[OWN]), ("new", new))}  # fmt: skip
    saved = 1.0 - cost["new"] / cost["old"] if cost["old"] > 0.0 else 0.0
    replaces = gain.low > 0.0 or (gain.low_90 > -LEAST_GAIN and saved >= LEAST_SAVED)
    seconds = judged.groupby("method")["seconds"].median()
    facts = {
        "tables": len(auc),
        "auc": float(auc[OWN].mean()),
        "auc_default": float(auc[DEFAULT].mean()),
        "seconds": 1000 * float(seconds[OWN]),
        "seconds_default": 1000 * float(seconds[DEFAULT]),
        "over_default": worded(found[f"{OWN} − {DEFAULT}"]),
        "covered_svm": covered(auc[OWN] - auc["OneClassSVM, width chosen"]),
        "won": int((auc[OWN] > auc[DEFAULT]).sum()),
        "lost_two": 100 * float((auc[OWN] - auc[DEFAULT] < -2.0).mean()),
        "won_two": 100 * float((auc[OWN] - auc[DEFAULT] > 2.0).mean()),
        "regret": worded(cluster_interval(grid.max(axis=1) - auc[OWN])),
        "regret_default": worded(cluster_interval(grid.max(axis=1) - auc[DEFAULT])),
        "regret_fair": worded(cluster_interval(label_regret(judged))),
        "candidate": name,
        "candidate_gain": weighed(gain),
        "cost_old": cost["old"],
        "cost_new": cost["new"],
        "replaces": bool(replaces),
        **{f"pays_{name}": words for name, words in when(judged).items()},
    }
    keys = {"nn": "nearest neighbours, k chosen", "parzen": "Parzen, width chosen",
            "svm": "OneClassSVM, width chosen", "svm_default": "OneClassSVM()",
            "nn1": "1 nearest neighbour", "nn5": "5 nearest neighbours",
            "scott": "Parzen, Scott's width", "forest": "isolation forest",
            "lof": "local outlier factor", "ecod": "ECOD"}  # fmt: skip
    for key, other in keys.items():
        one = found[f"{OWN} − {other}"]
        facts[f"over_{key}"], facts[f"word_{key}"] = worded(one), said(one)
    table = as_table(found)
    table["seconds"] = [float(seconds[line.split(" − ")[1]]) for line in table.index]
    return Finding("", facts, table, interval_figure(
        table, "first minus second, AUC points", margin=True,
        short=lambda line: line.replace(" − ", "\n− "),
    ))  # fmt: skip


def label_regret(rows: pd.DataFrame) -> pd.Series:
    """The width that half of the test rows choose minus LpSVDDCV, judged on the other half."""
    grid = widths_of(rows)
    own = rows[rows["method"] == OWN].set_index("dataset")
    gains = []
    for ask, judge in (("first", "second"), ("second", "first")):
        best = grid.loc[grid.groupby("dataset")[ask].idxmax()].set_index("dataset")
        gains.append(best[judge] - own[judge])
    return (gains[0] + gains[1]) / 2


def when(rows: pd.DataFrame) -> dict[str, str]:
    """LpSVDDCV minus the default by thirds of a property, and by the evidence of the criterion."""
    auc = rows.pivot(index="dataset", columns="method", values="auc")
    lead = auc[OWN] - auc[DEFAULT]
    grid = widths_of(rows)
    grid = grid[grid["order"] > 0.0]
    top = grid.loc[grid.groupby("dataset")["criterion"].idxmax()].set_index("dataset")
    found = {}
    for name in (*PROPERTIES, "evidence", "order"):
        ranks = top[name].reindex(lead.index).rank(pct=True, method="average")
        for word, low, high in (("low", 0, 1 / 3), ("middle", 1 / 3, 2 / 3), ("high", 2 / 3, 1)):
            part = lead[(ranks > low) & (ranks <= high)]
            if len(part) > 1:
                found[f"{name}_{word}"] = worded(cluster_interval(part))
    return found


# -- question 3 ------------------------------------------------------------------------------------


@finding("tables_rates")
def tables_promise(rows: pd.DataFrame) -> Finding:
    """Per cent of new normal rows rejected by every method, where 5 and 10 are wanted."""
    judged, lines, facts = of_part(rows), {}, {}
    for (method, level), part in judged.groupby(["method", "level"], sort=False):
        found, wanted = cluster_interval(part.set_index("dataset")["rejected"]), 100 * level
        kept = 0.8 * wanted < found.low and found.high < 1.2 * wanted
        lines[method, f"{wanted:g} %"] = {
            "mean": found.mean, "low": found.low, "high": found.high,
            "more than twice": 100 * float((part["rejected"] > 2 * wanted).mean()),
            "anomalies found": part["found"].mean(), "keeps": "yes" if kept else "no",
        }  # fmt: skip
    table = pd.DataFrame.from_dict(lines, orient="index").rename_axis(["method", "wanted"])
    for level in ("5 %", "10 %"):
        part = table.xs(level, level="wanted")
        facts[f"keep_{level[:-2]}"] = list(part.index[part["keeps"] == "yes"])
    names = {"own": "LpSVDD", "ball": "LpSVDD, the ball's surface", "cv": "LpSVDD, width chosen",
             "svm": "OneClassSVM", "lof": "local outlier factor", "forest": "isolation forest",
             "split": "split conformal", "cross": "cross conformal"}  # fmt: skip
    for key, method in names.items():
        for level in ("5", "10"):
            one = table.loc[method, f"{level} %"]
            words = f"{one['mean']:.1f} % ({one['low']:.1f} to {one['high']:.1f})"
            facts[f"{key}_{level}"] = words
            facts[f"{key}_twice_{level}"] = one["more than twice"]
    facts["tables"] = judged["dataset"].nunique()
    return Finding("", facts, table, draw_rates(judged))


def draw_rates(rows: pd.DataFrame) -> Draw:
    """Per cent rejected where 10 are wanted: quartiles, ends at 5 and 95 %, and the mean."""
    part = rows[rows["level"] == 0.1].pivot(index="dataset", columns="method", values="rejected")
    part = part[part.mean().sort_values().index]

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.4)
        place = np.arange(part.shape[1])
        low, first, third, high = (part.quantile(q) for q in (0.05, 0.25, 0.75, 0.95))
        ax.axvline(10, color="#666666", lw=0.8, ls="--")
        ax.hlines(place, low, high, color="#bbbbbb", lw=2)
        ax.hlines(place, first, third, color=GREY, lw=6)
        ax.scatter(part.mean(), place, s=30, color="black", zorder=3)
        ax.set_yticks(place, [n.replace(", ", ",\n") if narrow else n for n in part])
        ax.set(xlabel="new normal rows rejected, %", xlim=(0, None))
        ax.grid(axis="y", visible=False)
        return figure

    return draw
