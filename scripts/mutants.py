"""Break the code on purpose, one place at a time, and see that a test notices.

Each entry of ``tests/mutants.yml`` replaces one piece of text by another and names the test that
has to fail then. Every mutant lives in a copy of the checkout; the checkout itself is not touched.
A test that passes without the mutation and fails with it has killed the mutant.

    python scripts/mutants.py [--jobs 2] [--only TEXT]     # --only: file or test contains TEXT
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
FAILED = 1  # pytest: tests were run and some failed; an error of another kind kills nothing


def tracked_files() -> list[str]:
    """Files that belong to the checkout, those not yet committed included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def copy_of_the_checkout(folder: str) -> Path:
    """The checkout in a folder of its own."""
    for name in tracked_files():
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return Path(folder)


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Exit code and last lines of pytest on some tests, with the package of this folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    return done.returncode, "\n".join(done.stdout.splitlines()[-12:])


def verdict(mutant: dict[str, str]) -> str:
    """ "killed", or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        place = copy_of_the_checkout(folder)
        file = place / mutant["file"]
        text = file.read_text(encoding="utf-8")
        if text.count(mutant["old"]) != 1:
            return f"STALE: the text to change is there {text.count(mutant['old'])} times"
        file.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        code, output = run_tests(place, [mutant["killed_by"]])
        if code == FAILED:
            return "killed"
        return "SURVIVED" if code == 0 else f"ERROR: pytest ended with {code}\n{output}"


def main() -> int:
    """Judge the mutants; exit code 1 unless every one is killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    mutants = yaml.safe_load((ROOT / "tests" / "mutants.yml").read_text(encoding="utf-8"))
    mutants = [one for one in mutants if options.only in one["file"] + " " + one["killed_by"]]
    code, output = run_tests(ROOT, sorted({one["killed_by"] for one in mutants}))
    if code != 0:
        print(f"the tests must pass before anything is broken:\n{output}")
        return 1
    killed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, text in zip(mutants, pool.map(verdict, mutants), strict=True):
            print(f"{text:8} {mutant['file']}: {mutant['what']}", flush=True)
            print(f"         {mutant['killed_by']}", flush=True)
            killed += text == "killed"
    print(f"{killed} of {len(mutants)} mutants killed")
    return 0 if killed == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
