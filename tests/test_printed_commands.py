"""Every command and Python block that a page prints runs, in a copy of the checkout.

A command runs as it is printed unless ``REDUCED`` has a shorter form of it, with the reason. An
option that is printed alone runs in the command that ``WITH_OPTION`` names, or is an option of some
command. So a new command on a page is covered at once, or fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from printed import ROOT, Printed, collect, in_text, texts
from typer.main import get_command

from replication.notebooks import notebook_paths

RUN = "python -m replication run"
NOTEBOOK = "python -m replication notebook"

COMMANDS, BLOCKS, OPTIONS = (
    [one for one in collect() if one.kind == kind] for kind in ("command", "python", "option")
)

#: What is not run as printed: its pattern, the shorter form, and why. The first that fits counts.
REDUCED = [
    (r"make (setup|test)", r"make -n \1", "the tests run in what the first makes"),
    (r"make (book|check-book|pdf)", r"make -n \1", "minutes, with Chromium; .ci/run does it"),
    (r"make lab", "make -n lab", "a server that does not end"),
    (r"make bench", "python -m replication bench --profile quick", "half an hour"),
    (r"make reproduce", "make reproduce DATASETS=D7 TRIALS=1", "forty minutes"),
    (r"\.ci/(run|lock\.sh)", r"bash -n .ci/\1", "half an hour; asks a package index"),
    (
        r"conda env create --file (environment\.yml)",
        r'''python -c "import yaml; assert yaml.safe_load(open('\1'))['dependencies']"''',
        "needs conda, and asks a package index",
    ),
    (
        r'pip install "\.\[plots\]"',
        "python -m pip install --dry-run --no-deps --no-build-isolation '.[plots]'",
        "asks a package index",
    ),
    (
        r"(python -m replication data add)",
        r"\1 --help",
        "needs the file of a set that may not be redistributed",
    ),
    (
        rf"({RUN} --all --study \w+) .*--from FOLDER",
        r"! \1 --from . > said 2>&1 && grep 'no table' said",
        "needs tables that may not be redistributed: without them a sentence says so",
    ),
    (
        rf"({RUN}) --all --study \w+ --save results",
        r"\1 --dataset D7 --study tilt --trials 1 --save elsewhere",
        "NAME is any study; all sets take minutes to hours",
    ),
    (
        rf"({RUN} --method my_detector:Nearest) --all --trials 10 (.*)",
        r"\1 --dataset D1 --trials 1 \2",
        "all sets take minutes",
    ),
    (rf"({RUN} .*--dataset D7)", r"\1 --trials 1", "all splits take minutes"),
    (
        rf"({NOTEBOOK} (?:pure|negatives)) (-p .*)",
        r"\1 --profile quick \2",
        "cells that are not stored take minutes on all sets",
    ),
]

#: The command in which an option with a value runs that a page prints alone.
WITH_OPTION = {
    "-p datasets '[\"D7\"]'": f"{NOTEBOOK} pure --profile quick -p datasets '[\"D7\"]'",
    "--grid grid.yml": f"{RUN} --method my_detector:Nearest --grid grid.yml --dataset D7",
    "--folder work": f"{RUN} --dataset D7 --setting pure --trials 1 --folder work",
    "--backend dask": f"{RUN} --dataset D7 --setting pure --trials 1 --backend dask",
    "--method NAME": f"{RUN} --dataset D7 --setting pure --trials 1 --method my_detector:Nearest",
    "--tune --trim 0.1": "lpsvdd fit rows.csv --tune --trim 0.1 --model m.lpsvdd",
}

#: What has to be done before a command that begins so.
WINE = (
    'python -c "from sklearn.datasets import load_wine; '
    "load_wine(as_frame=True).frame.to_csv('wine.csv', index=False)\""
)
FIT_WINE = "lpsvdd fit wine.csv --label target --target 1 --model wine.lpsvdd"
BEFORE = {
    "lpsvdd score m.lpsvdd": "lpsvdd fit train.csv --id name --model m.lpsvdd",
    "lpsvdd fit wine.csv": WINE,
    "lpsvdd score wine.lpsvdd": f"{WINE} && {FIT_WINE}",
    "make archive": "git init --quiet . && git add --all && "
    "git -c user.name=reader -c user.email=reader@localhost commit --quiet --message=copy",
}


def how_to_run(one: Printed) -> str:
    """The command that covers what is printed."""
    if one.kind == "option":
        return WITH_OPTION[one.text]
    fits = ((m, new) for old, new, _ in REDUCED if (m := re.fullmatch(old, one.text)))
    return next((match.expand(new) for match, new in fits), one.text)


def long_options() -> set[str]:
    """Every option of both command lines."""
    from lpsvdd.cli import command_parser
    from replication.cli import build

    found, parsers, commands = set(), [command_parser()], [get_command(build())]
    for parser in parsers:
        found |= set(re.findall(r"--[\w-]+", parser.format_help()))
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        for parameter in command.params:
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout: the original stays clean."""
    built = (".git", ".venv", "_build", "__pycache__", ".*_cache", ".hypothesis", "figures")
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*built))
    shutil.rmtree(folder / "book" / "notebooks", ignore_errors=True)
    return folder


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A reader's own folder with the files that pages speak of."""
    folder = tmp_path / "desk"
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]).round(3)
    named = rows.assign(name=[f"row {i}" for i in range(60)])
    rows.to_csv(folder / "rows.csv", index=False)
    named[:40].to_csv(folder / "train.csv", index=False)
    named[40:].to_csv(folder / "new.csv", index=False)
    kind = np.where(rng.permutation(60) < 40, "normal", "odd")
    rows.assign(kind=kind).to_csv(folder / "my.csv", index=False)
    (detector,) = [one.text for one in BLOCKS if one.text.startswith("# my_detector.py")]
    (folder / "my_detector.py").write_text(detector, encoding="utf-8")
    (folder / "grid.yml").write_text("k: [1, 3]\n", encoding="utf-8")
    return folder


def shell(line: str, folder: Path, checkout: Path) -> None:
    """Run a line as a reader would, with this interpreter first in the path."""
    if line.startswith("make"):  # the environment that runs the tests is the one that make finds
        ready = Path(sys.prefix) / ".ready"
        line += f" VENV={shlex.quote(sys.prefix)} --old-file={shlex.quote(str(ready))}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("M")}
    programs = Path(sys.executable).parent
    environment["PATH"] = os.pathsep.join([str(programs), environment.get("PATH", "")])
    environment |= {"PYTHONPATH": str(checkout), "MPLBACKEND": "agg"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}"


def name(one: Printed) -> str:
    """A short id of a test: what is printed, without quotes."""
    return re.sub(r"[^\w.=-]+", "-", one.text.removeprefix("python -m "))[:70].strip("-")


def test_every_option_target_and_reduction_that_pages_print_exists():
    for old, *_ in REDUCED:
        assert any(re.fullmatch(old, one.text) for one in COMMANDS), f"no page prints {old}"
    assert set(WITH_OPTION) <= {one.text for one in OPTIONS}, "remove what no page prints"
    alone = {one.text for one in OPTIONS} - set(WITH_OPTION)
    assert alone <= long_options(), "name a command with this option in WITH_OPTION"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for one in COMMANDS:
        if one.text.startswith("make "):
            target = shlex.split(one.text)[1]
            assert re.search(rf"^{re.escape(target)}:.*## ", makefile, re.M), one


def test_every_notebook_prints_the_command_that_makes_it():
    lines = "\n".join(f"{one.text} " for one in COMMANDS)  # a parameter may follow the name
    assert [stem for stem in notebook_paths() if f"{NOTEBOOK} {stem} " not in lines] == []


def test_collector_finds_every_way_of_printing_and_refuses_unknown_languages():
    page = (
        "Text `make book` and `--all`, `lpsvdd` alone, `make`.\n\n    lpsvdd fit a.csv  # note\n"
        "    no command\n\n```bash\nls | head\n```\n```{note}\n`pip install x`\n```\n"
        "```python\nprint(1)\n```\n```text\npython -m this\nprinted\n```\n\n    import os\n    os\n"
    )
    assert sorted(in_text(page)) == [
        ("command", "lpsvdd fit a.csv"), ("command", "ls | head"), ("command", "make"),
        ("command", "make book"), ("command", "pip install x"), ("command", "python -m this"),
        ("option", "--all"), ("python", "import os\nos"), ("python", "print(1)\n"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="a block of the language 'r'"):
        list(in_text("```r\n1\n```\n"))
    looks = re.compile(r"(?:python -m replication \w+|pip install [\"'.\w]\S*|lpsvdd fit \w+\.csv)")
    collected = " ".join(one.text for one in COMMANDS)
    for where, text in texts():
        for found in looks.findall(text):
            assert found.strip("`") in collected, f"{where} hides {found}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "one", [*COMMANDS, *(one for one in OPTIONS if one.text in WITH_OPTION)], ids=name
)
def test_printed_command_runs(one, checkout, desk):
    line = how_to_run(one)
    is_own = line.startswith("lpsvdd") or "my_detector" in line
    for beginning, first in BEFORE.items():
        if line.startswith(beginning):
            shell(first, desk if is_own else checkout, checkout)
    shell(line, desk if is_own else checkout, checkout)


@pytest.mark.slow
@pytest.mark.parametrize("one", BLOCKS, ids=lambda one: one.page)
def test_printed_python_runs(one, checkout, desk):
    (desk / "printed_block.py").write_text(one.text, encoding="utf-8")
    shell("python printed_block.py", desk, checkout)
