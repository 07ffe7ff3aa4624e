"""Small problems, most of them unreasonable: no exception, nothing wrong, and no silence.

LPSVDD_FUZZ sets their number; ``make fuzz`` runs all of them and stores the counts.
"""

from __future__ import annotations

import os

import pytest

from replication.studies import fuzz

NUMBER = int(os.environ.get("LPSVDD_FUZZ", "200"))


@pytest.fixture(scope="module")
def rows():
    return fuzz.run(range(NUMBER))


def test_no_problem_raises(rows):
    assert rows.loc[rows["error"] != "", ["number", "road", "error"]].empty


def test_nothing_that_calls_itself_optimal_is_wrong(rows):
    assert rows.loc[rows["wrong"], ["number", "road", "p", "reason"]].empty


def test_few_do_not_converge_and_all_of_those_say_so(rows):
    stopped = rows[rows["status"] == "not-converged"]
    assert len(stopped) <= max(1, fuzz.NOT_CONVERGED_AT_MOST * len(rows))
    assert stopped["warned"].all()


def test_the_problems_are_as_various_as_they_should_be():
    drawn = [fuzz.problem(i) for i in range(300)]
    assert {one.kernel for one in drawn} == set(fuzz.KERNELS)
    assert {1.0, 1.0 + 1e-8, 100.0} <= {one.case.p for one in drawn}
    assert 0.3 < sum((one.case.y < 0).any() for one in drawn) / 300 < 0.6
    assert 0.1 < sum(hasattr(one.c, "shape") for one in drawn) / 300 < 0.3
    assert min(len(one.case.y) for one in drawn) == 1
    costs = [float(one.case.cost[0]) for one in drawn]
    assert min(costs) < 1e-7 and max(costs) > 1e7
