"""Hundreds of other tables: what p, the choice of width and a promised rate are worth there.

Tables: ``tables_*``; rules in ``studies/plans/tables.md``. Design tables choose, judged decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE
from lpsvdd.selection import KINDS
from replication import table_sets
from replication.evidence import MARGIN, as_table, compare_over_sets, weighed
from replication.figures import Draw, interval_figure, panels
from replication.findings import Finding, finding
from replication.findings.tilt import leaving_mean, one_curve
from replication.statistics import cluster_interval
from replication.wording import worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN, DEFAULT = "LpSVDDCV", "LpSVDD()"
OTHERS = ("1", "1.2", "5", "20", "mean")
THRESHOLDS = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0)
CHOSEN, SHARE = "chosen", 0.1
LEAST_GAIN = 0.1  # rule 8 of the plan
PROPERTIES = ("features", "rows", "few_values", "copies", "outside")


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


# -- question 1 ------------------------------------------------------------------------------------


@finding("tables_exponents")
def tables_p(rows: pd.DataFrame) -> Finding:
    """p at the same width and share: differences, and what labels would gain."""
    judged = of_part(rows)

    def gain(width: str, share: float = SHARE) -> str:
        return worded(cluster_interval(at(judged, width, share)["gain"]))

    off = beside_two(at(judged))
    exponents = off.drop(columns="mean")
    facts = {
        "tables": len(off),
        "designed": of_part(rows, "design")["dataset"].nunique(),
        "rows": int(rows["rows"].max()),
        "gain": gain(CHOSEN),
        "gain_rule": gain("quarter-mean-distance"),
        "gain_scale": gain("scale"),
        "gain_many": gain(CHOSEN, 0.3),
        "gain_rule_many": gain("quarter-mean-distance", 0.3),
        "far": int((exponents.abs() >= 2.0).any(axis=1).sum()),
        "confirmed": confirmed(rows),
    }
    many = beside_two(at(judged, "scale", 0.3))
    for p in ("5", "20"):
        facts[f"worst_{p}"] = worded(compare_over_sets(many[p]))
    for p in OTHERS:
        facts[f"over_{p.replace('.', '_')}"] = worded(compare_over_sets(off[p]))
    return Finding("", facts)


@finding("tables_exponents", "tables_again")
def tables_far(rows: pd.DataFrame, again: pd.DataFrame) -> Finding:
    """Rule 4: differences of two points that are half a point with the same sign on other rows."""
    first = beside_two(at(of_part(rows))).drop(columns="mean")
    new = again[(again["width"] == CHOSEN) & (again["share"] == SHARE)]
    others = [beside_two(part.set_index("dataset"))[first.columns]
              for _, part in new.groupby("trial")]  # fmt: skip
    first = first.loc[others[0].index]
    real = first.abs() >= 2.0
    for one in others:
        real &= (np.sign(one) == np.sign(first)) & (one.abs() >= MARGIN)
    names = list(real.index[real.any(axis=1)])
    facts = {"real": len(names), "names": [name.split("__")[1] for name in names]}
    return Finding("", facts)


def confirmed(rows: pd.DataFrame) -> list[str]:
    """Rule 3: properties under which p is worth half a point on design and judged tables."""
    found = []
    for width in dict.fromkeys(rows["width"]):
        design, judged = (at(of_part(rows, part), width) for part in ("design", "judged"))
        for name in (*PROPERTIES, "auc_2"):
            cuts = design[name].quantile([0.0, 1 / 3, 2 / 3, 1.0]).tolist()
            cuts[0], cuts[-1] = -np.inf, np.inf
            for low, high in zip(cuts[:-1], cuts[1:], strict=True):
                parts = [one[one[name].between(low, high)] for one in (design, judged)]
                for p in OTHERS[:-1]:
                    both = [compare_over_sets(beside_two(one)[p]) for one in parts if len(one) > 1]
                    signs = {np.sign(one.mean) for one in both}
                    large = all(one.exists and abs(one.mean) >= MARGIN for one in both)
                    if len(both) == 2 and large and len(signs) == 1:
                        found.append(f"p = {p}, {width}, {name} from {low:.3g} to {high:.3g}")
    return found


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
    name = judged_candidate(rows)
    gain = compare_over_sets(candidates(judged)[name].reindex(auc.index) - auc[OWN])
    seconds = judged.groupby("method")["seconds"].median()
    lead = auc[OWN] - auc[DEFAULT]
    facts = {
        "tables": len(auc),
        "auc": float(auc[OWN].mean()),
        "auc_default": float(auc[DEFAULT].mean()),
        "seconds": 1000 * float(seconds[OWN]),
        "seconds_default": 1000 * float(seconds[DEFAULT]),
        "over_default": worded(found[f"{OWN} − {DEFAULT}"]),
        "over_nn": worded(found[f"{OWN} − nearest neighbours, k chosen"]),
        "over_svm": worded(found[f"{OWN} − OneClassSVM, width chosen"]),
        "lost_two": 100 * float((lead < -2.0).mean()),
        "won_two": 100 * float((lead > 2.0).mean()),
        "regret_fair": worded(cluster_interval(label_regret(judged))),
        "candidate": name,
        "candidate_gain": weighed(gain),
        **{f"pays_{name}": words for name, words in by_evidence(judged, lead).items()},
    }
    table = as_table(found)
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


def by_evidence(rows: pd.DataFrame, lead: pd.Series) -> dict[str, str]:
    """LpSVDDCV minus the default in the thirds with the weakest and the strongest evidence."""
    grid = widths_of(rows)
    grid = grid[grid["order"] > 0.0]
    top = grid.loc[grid.groupby("dataset")["criterion"].idxmax()].set_index("dataset")
    ranks = top["evidence"].reindex(lead.index).rank(pct=True)
    parts = {"evidence_low": ranks <= 1 / 3, "evidence_high": ranks > 2 / 3}
    return {name: worded(cluster_interval(lead[part])) for name, part in parts.items()}


# -- question 3 ------------------------------------------------------------------------------------


@finding("tables_rates")
def tables_promise(rows: pd.DataFrame) -> Finding:
    """Per cent of new normal rows rejected by every method, where 5 and 10 are wanted."""
    judged, lines = of_part(rows), {}
    for (method, level), part in judged.groupby(["method", "level"], sort=False):
        found, wanted = cluster_interval(part.set_index("dataset")["rejected"]), 100 * level
        kept = 0.8 * wanted < found.low and found.high < 1.2 * wanted
        lines[method, f"{wanted:g} %"] = {
            "mean": found.mean, "low": found.low, "high": found.high,
            "more than twice": 100 * float((part["rejected"] > 2 * wanted).mean()),
            "anomalies found": part["found"].mean(), "keeps": "yes" if kept else "no",
        }  # fmt: skip
    table = pd.DataFrame.from_dict(lines, orient="index").rename_axis(["method", "wanted"])
    own = table.loc["LpSVDD", "10 %"]
    facts = {"own_10": f"{own['mean']:.1f} % ({own['low']:.1f} to {own['high']:.1f})"}
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
        ax.hlines(place, first, third, color=PALETTE["blue"], lw=6)
        ax.scatter(part.mean(), place, s=30, color="black", zorder=3)
        ax.set_yticks(place, [n.replace(", ", ",\n") if narrow else n for n in part])
        ax.set(xlabel="new normal rows rejected, %", xlim=(0, None))
        ax.grid(axis="y", visible=False)
        return figure

    return draw


@finding("tables_contaminated")
def tables_dirty(rows: pd.DataFrame) -> Finding:
    """AUC lost with anomalies among the training rows, and the one remedy that is judged."""
    remedies = [m for m in dict.fromkeys(rows["method"]) if m.startswith(f"{OWN},")] + [DEFAULT]

    def means(part: str) -> pd.DataFrame:
        return of_part(rows, part).pivot_table(
            index=["dataset", "contaminated"], columns="method", values="auc"
        )

    design = means("design").xs(10, level="contaminated").mean()
    remedy = str(design[remedies].idxmax())
    table = means("judged")
    clean, some, dirty = (table.xs(k, level="contaminated") for k in (0, 5, 10))
    lost = {m: compare_over_sets(clean[m] - dirty[m]) for m in clean}
    gain, price = compare_over_sets(dirty[remedy] - dirty[OWN]), (clean[OWN] - clean[remedy]).mean()
    shown = pd.DataFrame({"0 %": clean.mean(), "5 %": some.mean(), "10 %": dirty.mean(),
                          "lost": {m: one.mean for m, one in lost.items()}})  # fmt: skip
    facts = {
        "lost": worded(lost[OWN]),
        "lost_default": worded(lost[DEFAULT]),
        "best_dirty": str(dirty.drop(columns=remedies[:-1]).mean().idxmax()),
        "remedy": remedy,
        "remedy_gain": worded(gain),
        "remedy_price": float(price),
        "least_lost": min(lost, key=lambda m: lost[m].mean),
    }  # fmt: skip
    return Finding("", facts, shown.sort_values("10 %", ascending=False))


# -- paths at equal tilt ---------------------------------------------------------------------------


@finding("tables_tilt")
def tables_tilt(rows: pd.DataFrame) -> Finding:
    """Rules 1 to 4 of ``tilt.md`` on tables."""
    near, curve = leaving_mean(rows), one_curve(rows.assign(c=np.nan))
    facts = {k: v for k, v in curve.facts.items() if k == "sets" or k.startswith("size_")}
    facts |= {f"near_{k}": near.facts[k] for k in ("described", "order")}
    return Finding("", facts)
