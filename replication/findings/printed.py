"""Checks of the printed tables against themselves and against the text that reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from replication import printed
from replication.findings import UNDECIDABLE, Finding, finding, graded, read
from replication.paper import SIZES, Size
from replication.statistics import cluster_of, friedman


def column(method: str, setting: str) -> str:
    """Name of a method's column in a printed table."""
    return method + ("-" if setting == "negatives" else "")


@finding()
def printed_wins(setting: str = "pure", over: Sequence[str] = ("l1-SVDD", "l2-SVDD")) -> Finding:
    """On how many data sets the printed lp-SVDD mean is above those of all the methods named."""
    table = printed.printed_matrix(setting, corrected=True)
    others = table[[column(name, setting) for name in over]].max(axis=1)
    difference = table[column("lp-SVDD", setting)] - others
    lost = list(difference.index[difference <= 0])
    facts = {"wins": len(table) - len(lost), "total": len(table), "lost": lost}
    return Finding(graded(not lost, facts["wins"] > 0), facts)


@finding()
def printed_improvement(dataset: str, points: float, over: str, slack: float = 0.5) -> Finding:
    """A stated improvement on one data set, in AUC points, against the printed table."""
    row = printed.printed_matrix("pure").loc[dataset]
    found = row["lp-SVDD"] - row[over]
    verdict = "holds" if abs(found - points) <= slack else "erratum"
    return Finding(verdict, {"found": found})


@finding()
def printed_ranks(setting: str, tolerance: float = 0.06) -> Finding:
    """Average ranks recomputed from the printed means, against the printed ranks."""
    recomputed = friedman(printed.printed_matrix(setting)).ranks
    stated = printed.printed_ranks(setting)
    difference = (recomputed - stated).abs()
    facts = {
        "largest": difference.max(),
        "rank": recomputed[column("lp-SVDD", setting)],
        "stated": stated[column("lp-SVDD", setting)],
    }
    first = recomputed.idxmin() == column("lp-SVDD", setting)
    return Finding("holds" if first and difference.max() <= tolerance else "erratum", facts)


@finding()
def printed_second(setting: str, method: str) -> Finding:
    """Which method has the second-best average rank."""
    order = friedman(printed.printed_matrix(setting, corrected=True)).ranks.sort_values()
    second = order.index[1]
    verdict = "holds" if second == column(method, setting) else "erratum"
    return Finding(verdict, {"second": second, "rank": order.iloc[1]})


@finding()
def printed_order(setting: str, better: str, worse: str) -> Finding:
    """One method has a better average rank than another."""
    found = friedman(printed.printed_matrix(setting, corrected=True)).ranks
    high, low = found[column(better, setting)], found[column(worse, setting)]
    return Finding("holds" if high < low else "erratum", {"better": high, "worse": low})


@finding()
def printed_p_value(setting: str) -> Finding:
    """The Friedman p-value recomputed from the printed means, against the printed one."""
    found = friedman(printed.printed_matrix(setting)).p_value
    stated = printed.FRIEDMAN_P[setting]
    apart = abs(np.log10(found / stated))
    verdict = "holds" if apart < 0.02 else "holds partly" if apart < 1 else "erratum"
    return Finding(verdict, {"found": found, "stated": stated})


@finding()
def row_labels(setting: str) -> Finding:
    """Labels that a printed table uses twice, and those of D1 to D20 that do not occur in it."""
    rows = printed.row_labels(setting)
    repeated = sorted({label for label in rows if rows.count(label) > 1})
    missing = [label for label in SIZES if label not in rows]
    facts = {"repeated": ", ".join(repeated), "missing": ", ".join(missing)}
    return Finding("erratum" if repeated or missing else "holds", facts)


@finding()
def printed_not_second(setting: str, methods: list[str]) -> Finding:
    """None of the methods has the second-best printed rank."""
    order = friedman(printed.printed_matrix(setting, corrected=True)).ranks.sort_values()
    places = {name: list(order.index).index(column(name, setting)) + 1 for name in methods}
    facts = {"places": " and ".join(str(place) for place in places.values())}
    return Finding("erratum" if 2 in places.values() else "holds", facts)


@finding()
def distinct_tables() -> Finding:
    """How many of the twenty data sets are tables of their own: no two share most of their rows."""
    from replication.datasets import MissingDataError, load

    rows = {}
    for name in SIZES:
        try:
            X = load(name).X
        except MissingDataError:  # D4 and D5 are supplied by the user; nothing else has their sizes
            continue
        rows[name] = Counter(map(bytes, np.ascontiguousarray(X, dtype=float).round(6)))
    shared = []
    for name, own in rows.items():
        for other, theirs in rows.items():
            common = sum((own & theirs).values())
            if name < other and common > 0.9 * min(own.total(), theirs.total()):
                shared.append((name, other))
    related = {name for pair in shared for name in pair}
    groups = len(SIZES) - len(related) + len({cluster_of(name) for name in related})
    pairs = ", ".join(
        f"{one} and {two}"
        for one, two in sorted(shared, key=lambda p: [int(name[1:]) for name in p])
    )
    facts = {"distinct": groups, "total": len(SIZES), "pairs": pairs}
    return Finding("holds" if groups == len(SIZES) else "holds partly", facts)


@finding()
def printed_spread(dataset: str, method: str, factor: float = 5.0) -> Finding:
    """A printed standard deviation far above those of its row and of the rerun.

    Erratum when it exceeds ``factor`` times the largest other one of its row and the rerun's.
    """
    table = printed.printed_auc("pure").set_index(["dataset", "method"])["auc_sd"]
    stated, others = table[dataset, method], table[dataset].drop(method)
    rows = read("pure").query("dataset == @dataset and method == @method")
    here = float(rows["auc"].std())
    facts = {"stated": stated, "others": others.max(), "here": here}
    wrong = stated > factor * max(others.max(), here)
    return Finding("erratum" if wrong else "holds", facts)


@finding()
def misprinted_value() -> Finding:
    """One AUC is printed as a fraction among percentages, and entered the printed ranks as such."""
    setting, dataset, method, as_printed, corrected = printed.MISPRINT
    table = printed.printed_matrix(setting)
    stated = printed.printed_ranks(setting)[method]
    rank = friedman(table).ranks[method]
    right = friedman(printed.printed_matrix(setting, corrected=True)).ranks[method]
    is_outlier = table.loc[dataset, method] == as_printed and (table.stack() < 1).sum() == 1
    verdict = (
        "erratum" if is_outlier and abs(rank - stated) < 0.01 < abs(right - stated) else "holds"
    )
    return Finding(verdict, {"corrected": corrected, "stated": stated, "right": right})


@finding()
def bold_is_best(dataset: str, bold: str) -> Finding:
    """Whether the value set in bold is the largest of its row."""
    row = printed.printed_matrix("pure").loc[dataset]
    verdict = "holds" if row[bold] == row.max() else "erratum"
    facts = {"bold": bold, "value": row[bold], "best": row.idxmax(), "largest": row.max()}
    return Finding(verdict, facts)


@finding()
def dataset_counts() -> Finding:
    """The printed sizes, targets and dimensions against the data sets as they can be had."""
    from replication.datasets import catalogue

    table = catalogue()[list(Size._fields)]
    differs = [name for name, size in SIZES.items() if tuple(table.loc[name]) != size]
    facts = {"agree": len(SIZES) - len(differs), "total": len(SIZES), "differs": ", ".join(differs)}
    return Finding(graded(not differs, facts["agree"] > 0), facts)


@finding()
def same_data_twice(first: str, second: str) -> Finding:
    """Two data sets of the table are one table with one target, yet print different results."""
    from replication.datasets import load

    one, two = load(first), load(second)
    same = np.array_equal(one.X, two.X) and np.array_equal(one.y, two.y)
    table = printed.printed_matrix("pure")
    apart = (table.loc[first] - table.loc[second]).abs()
    facts = {
        "largest": apart.max(),
        "method": apart.idxmax(),
        "first": table.loc[first, apart.idxmax()],
        "second": table.loc[second, apart.idxmax()],
    }
    return Finding(UNDECIDABLE if same and apart.max() > 5 else "holds", facts)
