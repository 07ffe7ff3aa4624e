"""Checks of the printed tables against themselves and against the text that reads them."""

from __future__ import annotations

import numpy as np

from replication import printed
from replication.claims.ledger import Outcome, check
from replication.paper import SIZES, Size
from replication.statistics import friedman

NAMES = {"pure": "{}", "negatives": "{}-"}


def column(method: str, setting: str) -> str:
    """Name of a method's column in a printed table."""
    return NAMES[setting].format(method)


def share_verdict(wins: int, total: int) -> str:
    """All, some or none of the data sets."""
    return "holds" if wins == total else "holds partly" if wins else "not reproduced"


@check
def printed_wins(setting: str, over: list[str]) -> Outcome:
    """On how many data sets the printed lp-SVDD mean is above those of all the methods named."""
    table = printed.printed_matrix(setting, corrected=True)
    others = table[[column(name, setting) for name in over]].max(axis=1)
    difference = table[column("lp-SVDD", setting)] - others
    lost = list(difference.index[difference <= 0])
    facts = {
        "wins": int((difference > 0).sum()),
        "total": len(table),
        "lost": ", ".join(lost) or "none",
        "best": difference.idxmax(),
        "largest": difference.max(),
    }
    return Outcome(share_verdict(facts["wins"], facts["total"]), facts)


@check
def printed_improvement(dataset: str, points: float, over: str, slack: float = 0.5) -> Outcome:
    """A stated improvement on one data set, in AUC points, against the printed table."""
    row = printed.printed_matrix("pure").loc[dataset]
    found = row["lp-SVDD"] - row[over]
    verdict = "holds" if abs(found - points) <= slack else "erratum"
    return Outcome(verdict, {"found": found})


@check
def printed_ranks(setting: str, tolerance: float = 0.06) -> Outcome:
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
    return Outcome("holds" if first and difference.max() <= tolerance else "erratum", facts)


@check
def printed_second(setting: str, method: str) -> Outcome:
    """Which method has the second-best average rank."""
    order = friedman(printed.printed_matrix(setting, corrected=True)).ranks.sort_values()
    second = order.index[1]
    verdict = "holds" if second == column(method, setting) else "erratum"
    return Outcome(verdict, {"second": second, "rank": order.iloc[1]})


@check
def printed_order(setting: str, better: str, worse: str) -> Outcome:
    """One method has a better average rank than another."""
    found = friedman(printed.printed_matrix(setting, corrected=True)).ranks
    high, low = found[column(better, setting)], found[column(worse, setting)]
    return Outcome("holds" if high < low else "erratum", {"better": high, "worse": low})


@check
def printed_p_value(setting: str) -> Outcome:
    """The Friedman p-value recomputed from the printed means, against the printed one."""
    found = friedman(printed.printed_matrix(setting)).p_value
    stated = printed.FRIEDMAN_P[setting]
    apart = abs(np.log10(found / stated))
    verdict = "holds" if apart < 0.02 else "holds partly" if apart < 1 else "erratum"
    return Outcome(verdict, {"found": f"{found:.1e}", "stated": f"{stated:.2e}"})


@check
def row_labels(rows: list[str], repeated: str, missing: str) -> Outcome:
    """A label that a printed table uses twice while another one does not occur."""
    wrong = rows.count(repeated) == 2 and missing not in rows
    return Outcome("erratum" if wrong else "holds", {"repeated": repeated, "missing": missing})


@check
def misprinted_value() -> Outcome:
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
    return Outcome(verdict, {"corrected": corrected, "stated": stated, "right": right})


@check
def bold_is_best(dataset: str, bold: str) -> Outcome:
    """Whether the value set in bold is the largest of its row."""
    row = printed.printed_matrix("pure").loc[dataset]
    verdict = "holds" if row[bold] == row.max() else "erratum"
    facts = {"bold": bold, "value": row[bold], "best": row.idxmax(), "largest": row.max()}
    return Outcome(verdict, facts)


@check
def dataset_counts() -> Outcome:
    """The printed sizes, targets and dimensions against the data sets as they can be had."""
    from lpsvdd.datasets import catalogue

    table = catalogue()[list(Size._fields)]
    differs = [name for name, size in SIZES.items() if tuple(table.loc[name]) != size]
    facts = {"agree": len(SIZES) - len(differs), "total": len(SIZES), "differs": ", ".join(differs)}
    return Outcome(share_verdict(facts["agree"], facts["total"]), facts)


@check
def same_data_twice(first: str, second: str) -> Outcome:
    """Two data sets of the table are one table with one target, yet print different results."""
    from lpsvdd.datasets import load

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
    return Outcome("undecidable" if same and apart.max() > 5 else "holds", facts)
