"""The printed tables against themselves, against the text that reads them, and against the data."""

from __future__ import annotations

from collections import Counter

import numpy as np

from replication import printed
from replication.datasets import MissingDataError, catalogue, load
from replication.findings import Numbers
from replication.layout import in_order
from replication.paper import SIZES, Size
from replication.statistics import cluster_of, friedman


def recomputed(setting: str) -> Numbers:
    """Recompute from a table of printed means what the text reads from it.

    ``lost``: sets on which lp is not above l1 and l2, or above the re-weighting methods; ``rank``
    and ``place`` with the misprint corrected; ``off``: largest distance of the ranks of the means
    as printed from the printed ranks.
    """
    as_printed, mark = printed.printed_matrix(setting), "-" if setting == "negatives" else ""
    table = printed.printed_matrix(setting, corrected=True)
    table.columns = table.columns.str.removesuffix(mark)
    test, stated = friedman(as_printed), printed.printed_ranks(setting)
    rank = friedman(table).ranks.sort_values()

    def lost(*others: str) -> list[str]:
        return list(table.index[table["lp-SVDD"] <= table[list(others)].max(axis=1)])

    return {
        "lost": lost("l1-SVDD", "l2-SVDD"),
        "lost_weights": lost("P-SVDD", "DW-SVDD", "GL-SVDD"),
        "sets": len(table),
        "over_l1": {k: float(v) for k, v in (table["lp-SVDD"] - table["l1-SVDD"]).items()},
        "rank": rank.to_dict(),
        "place": {name: place for place, name in enumerate(rank.index, start=1)},
        "off": float((test.ranks - stated).abs().max()),
        "own": float(test.ranks[f"lp-SVDD{mark}"]),
        "own_printed": float(stated[f"lp-SVDD{mark}"]),
        "p_value": test.p_value,
        "decades": abs(float(np.log10(test.p_value / printed.FRIEDMAN_P[setting]))),
    }


def repeated_labels(setting: str) -> Numbers:
    """List the labels that a printed table uses twice, and those that do not occur in it."""
    rows = printed.row_labels(setting)
    repeated = sorted({label for label in rows if rows.count(label) > 1})
    return {"repeated": repeated, "missing": [label for label in SIZES if label not in rows]}


def printed_spread(pure, dataset: str, method: str) -> Numbers:
    """Compare a printed standard deviation with those of its row and of the rerun."""
    table = printed.printed_auc("pure").set_index(["dataset", "method"])["auc_sd"]
    own = pure[(pure["dataset"] == dataset) & (pure["method"] == method)]
    others = float(table[dataset].drop(method).max())
    return {"stated": table[dataset, method], "others": others, "here": float(own["auc"].std())}


def misprinted_value() -> Numbers:
    """Recompute the rank of the method whose AUC is printed as a fraction among percentages."""
    setting, _, method, _, corrected = printed.MISPRINT
    ranks = [friedman(printed.printed_matrix(setting, corrected=c)).ranks for c in (False, True)]
    stated = printed.printed_ranks(setting)[method]
    return {
        "corrected": corrected, "stated": float(stated), "wrong": float(ranks[0][method]),
        "right": float(ranks[1][method]),
        "fractions": int((printed.printed_matrix(setting).stack() < 1).sum()),
    }  # fmt: skip


def bold_is_best(dataset: str, bold: str) -> Numbers:
    """Compare the value set in bold with the largest of its row."""
    row = printed.printed_matrix("pure").loc[dataset]
    return {"value": row[bold], "best": row.idxmax(), "largest": row.max()}


def distinct_tables() -> Numbers:
    """Count the data sets that are tables of their own: no two share most of their rows."""
    rows = {}
    for name in SIZES:
        try:
            X = load(name).X
        except MissingDataError:  # D4 and D5 are supplied by the user; nothing else has their sizes
            continue
        rows[name] = Counter(map(bytes, np.ascontiguousarray(X, dtype=float).round(6)))
    names = in_order(rows)
    pairs = [(one, two) for k, one in enumerate(names) for two in names[k + 1 :]]
    shared = [
        (one, two) for one, two in pairs
        if (rows[one] & rows[two]).total() > 0.9 * min(rows[one].total(), rows[two].total())
    ]  # fmt: skip
    related = {name for pair in shared for name in pair}
    distinct = len(SIZES) - len(related) + len({cluster_of(name) for name in related})
    said = [f"{one} with {two}" for one, two in shared]
    return {"distinct": distinct, "total": len(SIZES), "pairs": said}


def dataset_counts() -> Numbers:
    """Compare printed sizes, targets and dimensions with the data sets as they can be had."""
    table = catalogue()[list(Size._fields)]
    differs = [name for name, size in SIZES.items() if tuple(table.loc[name]) != size]
    return {"agree": len(SIZES) - len(differs), "total": len(SIZES), "differs": differs}


def same_data_twice(first: str, second: str) -> Numbers:
    """Say whether two data sets are one table, and how far apart their printed rows are."""
    one, two = load(first), load(second)
    table = printed.printed_matrix("pure")
    apart = (table.loc[first] - table.loc[second]).abs()
    same = bool(np.array_equal(one.X, two.X) and np.array_equal(one.y, two.y))
    return {"same": same, "largest": apart.max(), "method": apart.idxmax()}
