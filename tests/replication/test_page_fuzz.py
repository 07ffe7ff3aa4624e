"""The counts of the fuzz test as the solver page shows them."""

from __future__ import annotations

from replication.pages.fuzz_counts import SHOWN, fuzz_facts, fuzz_table
from replication.studies import fuzz


def test_the_page_shows_the_counts_of_the_study():
    counts = fuzz.summary(fuzz.run(range(12)))
    table, facts = fuzz_table(counts), fuzz_facts(counts, 12)
    assert list(table.columns) == list(SHOWN.values())
    assert facts["fuzz_problems"] == "12"
    assert facts["fuzz_solutions"] == str(table["solutions"].sum())
    assert facts["fuzz_wrong"] == facts["fuzz_exceptions"] == 0
    counts.loc[0, ["wrong", "not_converged"]] = 3, 1
    worse = fuzz_facts(counts, 12)
    assert worse["fuzz_wrong"] == 3
    share = 100 * counts["not_converged"].sum() / counts["solutions"].sum()
    assert worse["fuzz_stopped_share"] == f"{share:.2f}"
