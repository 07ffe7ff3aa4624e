"""Every number that ``article.typ`` shows, as text: ``#n.lead.left`` is ``["lead"]["left"]``."""

from __future__ import annotations

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
from replication.statistics import Interval, cluster_count, cluster_interval
from replication.tables import method_label
from replication.wording import counted, number

Texts = dict[str, Any]


def article_numbers(code: Commit) -> Texts:
    """Compute all of them from the stored tables, CITATION.cff and the commit."""
    with_, without = read("negatives"), read("pure")
    both = rerun.Rerun(without, "pure"), rerun.Rerun(with_, "negatives")
    curve = tilt.one_curve(read("tilt"))
    fuzz = solvers.fuzz_counts(read("fuzz"))
    covered = rejection.rejection_coverage(read("rejection_coverage"))
    sets = rejection.rejection_datasets(read("rejection_datasets"))
    simulated = bound.bound_coverage(read("bound_coverage"))
    relabelled = same_range.relabelling_summary(read("relabelling"))
    chosen = decisions.decision_summary(read("decisions"))
    verdicts = claims.counts()
    return {
        "about": about(code),
        "paper": texts(
            sets=len(paper.SIZES), clusters=cluster_count(paper.SIZES), splits=paper.TRIALS,
            cells=len(paper.COSTS) * len(paper.EXPONENTS), costs=len(paper.COSTS),
            shipped=sum(record.kind != "user" for record in RECORDS), errata=len(claims.errata()),
        ),
        "errata": claims.errata()[["where", "printed", "correct"]].to_numpy().tolist(),
        "claims": texts(all=sum(verdicts.values())) | {"rows": [*map(list, verdicts.items())]},
        "rerun": texts(
            splits=int(without.groupby("dataset")["trial"].nunique().min()),
            apart=f"{off(both[0]).mean().mean():.1f}",
            apart_neg=f"{off(both[1]).mean().mean():.1f}",
            apart_lp=f"{off(both[1])[both[1].own].mean():.1f}",
        ) | {"rows": means(*both)},
        "lead": lead_texts(),
        "curve": texts(
            l1_at_hard=f"{curve['l1_at_hard']:.0f}", span=f"{curve['span']:.0f}",
            large=f"{max(curve['size'][p] for p in ('5', '20')):.1f}",
            one=f"{curve['size']['1']:.1f}",
        ),
        "alike": f"{relabelled['alike']:.0f}",
        "others": others(),
        "worth": worth(),
        "outliers": with_outliers(without, with_),
        "labels": labels(),
        "decisions": {k: f"{chosen[k]:.0f}" for k in ("empty", "reject")},
        "rate": rates(),
        "interval": texts(
            runs=covered["runs"], misses=counted(covered["misses"], "time"),
            worst=f"{covered['worst']:.1f}", settings=covered["cells"], splits=sets["splits"],
            disagree=counted(sets["disagree"], ""), length=f"{sets['length']:.2f}",
            ties=f"{covered['ties_worst']:.1f}",
        ),
        "bound": texts(runs=simulated["runs"], vacuous=f"{simulated['vacuous']:.0f}"),
        "fuzz": texts(problems=fuzz["problems"], wrong=counted(fuzz["wrong"], ""),
                      solutions=fuzz["solutions"], stopped=f"{fuzz['stopped_share']:.1f}"),
    }  # fmt: skip


def texts(**values: Any) -> Texts:
    """Write integers with commas; texts stay."""
    return {k: f"{v:,}" if isinstance(v, int) else v for k, v in values.items()}


def about(code: Commit) -> Texts:
    """Say what the head of the article says."""
    entry = citation()
    names = [a.get("name") or f"{a['given-names']} {a['family-names']}" for a in entry["authors"]]
    known = f"swh:1:dir:{code.tree}" if code.name and not code.changed else "with the next commit"
    return {
        "title": entry["preferred-citation"]["title"],
        "authors": names,
        "keywords": entry["keywords"],
        "doi": entry.get("doi", "to be assigned when it is deposited"),
        "repository": entry.get("repository-code", "the deposit that holds this file"),
        "version": entry["version"],
        "date": datetime.fromtimestamp(code.time, UTC).date().isoformat(),
        "swhid": known,
    }


def off(table: rerun.Rerun) -> Any:
    """Return the distance of every mean from print, data sets × methods."""
    return (table.here - table.printed).abs()


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
    found = same_range.lead(read("common_range"))
    steps = {
        "paper’s grid": "lead", "ℓp without the cells that ℓ1 cannot use": "removed",
        "ℓ1 also has the kernel mean": "with_mean", "ℓ1 has four shares over the range": "few",
        "both have forty cells over the range": "left",
    }  # fmt: skip
    rows = [[name, f"{found[key]}"] for name, key in steps.items()]
    shown = {k: f"{v}" for k, v in found.items() if isinstance(v, Interval)}
    each = same_range.weights_in_range(read("common_range"), read("weights_range_tables"))["each"]
    weighted = {name.lower().replace("-", "_"): f"{one:.1f}" for name, one in each.items()}
    return shown | weighted | texts(splits=found["splits"], rows=rows)


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
    return texts(
        tables=found["tables"], designed=found["designed"], rows_each=found["rows"],
        open=len(used), left_out=int((~used).sum()),
        gain=f"{found['gain']['scale']:.1f}", gain_many=f"{found['gain_many']['scale']:.1f}",
        gain_chosen=f"{found['gain']['chosen']:.2f}", neighbours=f"{neighbours:.1f}",
        rows=[[name, *(f"{one[p]:.2f}" for one in columns)] for p, name in names.items()],
    )  # fmt: skip


def worth() -> Texts:
    """Describe what labels gain by tuning the share, and the exponent after it, by width."""
    rows = read("decomposition")
    shown: Texts = texts(tables=rows["dataset"].nunique())
    for width in decomposition.WIDTHS:
        one = decomposition.tuning_gains(rows, width)
        share, after = (compare_over_sets(one[name]) for name in ("share", "p after share"))
        shown[width] = {"share": f"{share:.2f}", "after": f"{after:.2f}"}
    return shown


def with_outliers(without: Any, with_: Any) -> Texts:
    """Describe what labelled outliers gain, and where they have weight."""
    gain = outliers.outlier_gain(
        read("negative_contest"), without, with_, read("labelled_outliers_tables")
    )
    weight = outliers.weight(read("frozen/negative_weight"))
    return {k: f"{gain[k]:.1f}" for k in ("wide", "machine", "tables")} | {
        "found": f"{gain['found']:.2f}"
    } | texts(
        printed=number(gain["printed"], "+.1f"), share=f"{weight['share']:.0f}",
        never=len(weight["never"]), total=weight["total"],
    )  # fmt: skip


def labels() -> Texts:
    """Describe what labelled outliers gain on other tables, and beside whom."""
    rows = read_table("labelled_outliers_tables")
    names = {"gain": "labels", "over_l1": "p over l1-", "over_l2": "p over l2-"}
    names["machine"] = "over two-class machine"
    off_by = labels_tables.primary_differences(rows)
    shown = {key: f"{compare_over_sets(off_by[name]):.1f}" for key, name in names.items()}
    return shown | texts(tables=len(off_by["labels"]))


def rates() -> Texts:
    """Describe how many new normal rows a default model rejects, by wanted rate."""
    kept = rate.kept_rate_summary(read("frozen/kept_rate"))
    shown = {f"at_{k}": f"{kept[f'at_{k}'].mean:.1f}" for k in (5, 10, 20)}
    rows = tables.of_part(read("tables_rates"))
    rows = rows[(rows["level"] == 0.1) & (rows["method"] == "LpSVDD")]
    on_tables = cluster_interval(rows.set_index("dataset")["rejected"])
    return shown | texts(
        sets=kept["sets"], least=f"{kept['least_10']:.0f}", most=f"{kept['most_10']:.0f}",
        ball=f"{kept['ball_10']:.0f}", tables=f"{on_tables:-.1f}",
    )  # fmt: skip
