"""Every number that ``article.typ`` shows, as text: ``#n.lead.left`` is ``["lead"]["left"]``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lpsvdd.plots import fraction
from replication import claims, paper, table_sets
from replication.about import Commit, citation
from replication.datasets import RECORDS
from replication.evidence import compare_over_sets
from replication.findings import (
    bound,
    decisions,
    decomposition,
    labels_tables,
    outliers,
    rate,
    read,
    rejection,
    rerun,
    same_range,
    solvers,
    tables,
    tilt,
)
from replication.results import read as read_table
from replication.statistics import cluster_count, cluster_interval
from replication.tables import method_label
from replication.wording import counted, number

Texts = dict[str, Any]


def texts(found: Mapping[str, Any], forms: str) -> Texts:
    """Format numbers of a finding, each as "name:form"; the form # writes small ones in words."""
    pairs = [pair.split(":") for pair in forms.split()]
    return {
        name: counted(found[name], "") if form == "#" else number(found[name], form)
        for name, form in pairs
    }


def article_numbers(code: Commit) -> Texts:
    """Compute all of them from the stored tables, CITATION.cff and the commit."""
    with_, without = read("negatives"), read("pure")
    both = rerun.Rerun(without, "pure"), rerun.Rerun(with_, "negatives")
    apart = [(table.here - table.printed).abs() for table in both]
    curve, sizes = tilt.one_curve(read("tilt")), paper.SIZES
    covered = rejection.rejection_coverage(read("rejection_coverage"))
    sets = rejection.rejection_datasets(read("rejection_datasets"))
    verdicts, errata = claims.counts(), claims.errata()
    of_paper = {
        "sets": len(sizes), "clusters": cluster_count(sizes), "splits": paper.TRIALS,
        "cells": len(paper.COSTS) * len(paper.EXPONENTS), "costs": len(paper.COSTS),
        "shipped": sum(one.kind != "user" for one in RECORDS), "errata": len(errata),
    }  # fmt: skip
    return {
        "about": about(code),
        "paper": {name: f"{value:,}" for name, value in of_paper.items()},
        "errata": errata[["where", "printed", "correct"]].to_numpy().tolist(),
        "claims": {"all": f"{sum(verdicts.values())}", "rows": [*map(list, verdicts.items())]},
        "rerun": {
            "splits": f"{without.groupby('dataset')['trial'].nunique().min()}",
            "apart": f"{apart[0].mean().mean():.1f}",
            "apart_neg": f"{apart[1].mean().mean():.1f}",
            "apart_lp": f"{apart[1][both[1].own].mean():.1f}",
            "rows": means(*both),
        },
        "lead": lead_texts(),
        "curve": texts(curve, "l1_at_hard:.0f span:.0f")
        | {"large": f"{max(curve['size'][p] for p in ('5', '20')):.1f}"}
        | {"one": f"{curve['size']['1']:.1f}"},
        "alike": f"{same_range.relabelling_summary(read('relabelling'))['alike']:.0f}",
        "others": others(),
        "worth": worth(),
        "outliers": with_outliers(without, with_),
        "labels": labels(),
        "decisions": texts(decisions.decision_summary(read("decisions")), "empty:.0f reject:.0f"),
        "rate": rates(),
        "interval": texts(covered, "runs:, misses:# worst:.1f cells:, ties_worst:.1f")
        | texts(sets, "splits:, disagree:# length:.2f"),
        "bound": texts(bound.bound_coverage(read("bound_coverage")), "runs:, vacuous:.0f"),
        "fuzz": texts(
            solvers.fuzz_counts(read("fuzz")), "problems:, solutions:, wrong:# stopped_share:.1f"
        ),
    }


def about(code: Commit) -> Texts:
    """Say what the head of the article says."""
    entry = citation()
    return {
        "title": entry["preferred-citation"]["title"],
        "authors": [
            a.get("name") or f"{a['given-names']} {a['family-names']}" for a in entry["authors"]
        ],
        "keywords": entry["keywords"],
        "doi": entry.get("doi", "to be assigned when it is deposited"),
        "repository": entry.get("repository-code", "the deposit that holds this file"),
        "version": entry["version"],
        "date": datetime.fromtimestamp(code.time, UTC).date().isoformat(),
        "swhid": "with the next commit" if code.changed or not code.name
        else f"swh:1:dir:{code.tree}",
    }  # fmt: skip


def means(without: rerun.Rerun, with_: rerun.Rerun) -> list[list[str]]:
    """List mean AUCs by method: here and printed, with targets only and with outliers."""
    lines: dict[str, list[str]] = {}
    for place, table in enumerate((without, with_)):
        here, printed = table.here.mean(), table.printed.mean()
        for name in table.methods:
            line = lines.setdefault(method_label(name).rstrip("⁻-"), ["–"] * 4)
            line[2 * place : 2 * place + 2] = [f"{here[name]:.1f}", f"{printed[name]:.1f}"]
    return [[name, *line] for name, line in lines.items()]


def lead_texts() -> Texts:
    """Describe the lead of lp over l1, and what each change of the grid leaves of it."""
    rows = read("common_range")
    found = same_range.lead(rows)
    steps = {
        "paper’s grid": "lead", "ℓp without the cells that ℓ1 cannot use": "removed",
        "ℓ1 also has the kernel mean": "with_mean", "ℓ1 has four shares over the range": "few",
        "both have forty cells over the range": "left",
    }  # fmt: skip
    weighted = same_range.weights_in_range(rows, read("weights_range_tables"))["each"]
    shown = texts(found, "lead: left: splits:")
    shown |= {name.lower().replace("-", "_"): f"{one:.1f}" for name, one in weighted.items()}
    return shown | {"rows": [[name, f"{found[key]}"] for name, key in steps.items()]}


def others() -> Texts:
    """Describe p against p = 2 on hundreds of other tables, three widths and shares."""
    found = tables.tables_p(read("tables_exponents"))
    columns = found["over"], found["scale"], found["scale_many"]
    names = {
        p: f"p = {fraction(float(p))}" if p != "mean" else "kernel mean" for p in tables.OTHERS
    }
    over = tables.tables_width(read("tables_contest"))["over"]
    neighbours = next(one for name, one in over.items() if "neighbours, k chosen" in name)
    used = table_sets.records()["part"].isin(["design", "judged"])
    return texts(found, "tables:, designed:, rows:,") | {
        "open": f"{len(used):,}",
        "left_out": f"{(~used).sum():,}",
        "gain": f"{found['gain']['scale']:.1f}",
        "gain_many": f"{found['gain_many']['scale']:.1f}",
        "gain_chosen": f"{found['gain']['chosen']:.2f}",
        "neighbours": f"{neighbours:.1f}",
        "by_p": [[name, *(f"{one[p]:.2f}" for one in columns)] for p, name in names.items()],
    }


def worth() -> Texts:
    """Describe what labels gain by tuning the share, and the exponent after it, by width."""
    rows = read("decomposition")
    shown: Texts = {"tables": f"{rows['dataset'].nunique():,}"}
    for width in decomposition.WIDTHS:
        one = decomposition.tuning_gains(rows, width)
        pairs = {"share": "share", "after": "p after share"}
        shown[width] = {k: f"{compare_over_sets(one[name]):.2f}" for k, name in pairs.items()}
    after_nu = decomposition.tuning_gains(rows, "rule", "scale")["p after share"]
    shown["after_nu"] = f"{compare_over_sets(after_nu):.2f}"
    return shown


def with_outliers(without: Any, with_: Any) -> Texts:
    """Describe what labelled outliers gain, and where they have weight."""
    gain = outliers.outlier_gain(
        read("negative_contest"), without, with_, read("labelled_outliers_tables")
    )
    weight = outliers.weight(read("frozen/negative_weight"))
    weight["never"] = len(weight["never"])
    shown = texts(gain, "wide:.1f machine:.1f tables:.1f found:.2f printed:+.1f")
    return shown | texts(weight, "share:.0f never: total:")


def labels() -> Texts:
    """Describe what labelled outliers gain on other tables, and beside whom."""
    names = {"gain": "labels", "over_l1": "p over l1-", "over_l2": "p over l2-"}
    names["machine"] = "over two-class machine"
    off_by = labels_tables.primary_differences(read_table("labelled_outliers_tables"))
    shown = {key: f"{compare_over_sets(off_by[name]):.1f}" for key, name in names.items()}
    return shown | {"tables": f"{len(off_by['labels']):,}"}


def rates() -> Texts:
    """Describe how many new normal rows a default model rejects, by wanted rate."""
    kept = rate.kept_rate_summary(read("frozen/kept_rate"))
    rows = tables.of_part(read("tables_rates"))
    rows = rows[(rows["level"] == 0.1) & (rows["method"] == "LpSVDD")]
    on_tables = cluster_interval(rows.set_index("dataset")["rejected"])
    shown = {f"at_{k}": f"{kept[f'at_{k}'].mean:.1f}" for k in (5, 10, 20)}
    shown |= texts(kept, "sets: least_10:.0f most_10:.0f ball_10:.0f")
    return shown | {"tables": f"{on_tables:-.1f}"}
