"""The list of mutants is current: each change can be made, and the test that kills it exists."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.yml"


@pytest.mark.skipif(not (ROOT / "replication").exists(), reason="needs the whole checkout")
def test_every_mutant_can_be_made_and_names_its_test() -> None:
    mutants = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    assert len(mutants) >= 50
    wrong = []
    for mutant in mutants:
        times = (ROOT / mutant["file"]).read_text(encoding="utf-8").count(mutant["old"])
        file, _, name = mutant["killed_by"].partition("::")
        known = f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        if times != 1 or not known or mutant["old"] == mutant["new"]:
            wrong.append(f"{mutant['file']}: {mutant['what']} ({times} places, test {known=})")
    assert not wrong, "bring tests/mutants.yml up to date:\n" + "\n".join(wrong)
