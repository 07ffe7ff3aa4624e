"""Promises of the repository's own files: imports, lock, environment, metadata, wheel, make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lpsvdd

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Extras of readers; `dev` serves developers, and conda users get all.
CONDA_EXTRAS = ("reference", "plots", "cluster", "replication", "book", "lab", "article", "test")
SUPPORTED = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def requirements(*extras: str) -> dict[str, Requirement]:
    """Requirements of the package and of some extras, by name, without references to itself."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r for r in parsed if r.name != "lpsvdd"}


def imported(statement: str, *modules: str) -> set[str]:
    """Which of the modules a fresh interpreter has imported after a statement."""
    code = f"{statement}\nimport sys\nprint(*sorted(set({modules!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_imports_are_light():
    light = "import lpsvdd, lpsvdd.plots; from lpsvdd.cli import command_parser; command_parser()"
    assert not imported(light, "cvxpy", "matplotlib", "pandas", "dask", "sklearn")
    # scikit-learn itself imports pandas where it is installed
    statement = "from lpsvdd import LpSVDD, solve, solve_path"
    assert not imported(statement, "cvxpy", "matplotlib", "dask", "typer", "tqdm", "yaml")


@pytest.mark.parametrize(
    ("call", "package", "extra"),
    [
        ("lpsvdd.plots.use_style()", "matplotlib", "plots"),
        ("lpsvdd.reference.solve_dual([[1.0]], None, 2.0, 1.0)", "cvxpy", "reference"),
        ("lpsvdd.reference.solve_primal([[1.0]], None, 2.0, 1.0)", "cvxpy", "reference"),
    ],
)
def test_module_without_its_extra_names_the_extra(monkeypatch, call, package, extra):
    import lpsvdd.plots
    import lpsvdd.reference

    for name in {package, *(name for name in sys.modules if name.startswith(f"{package}."))}:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(ImportError, match=rf"{package}.*pip install 'lpsvdd\[{extra}\]'"):
        eval(call, {"lpsvdd": lpsvdd})


def test_lock_satisfies_pyproject_with_a_hash_for_everything_and_no_address():
    text = text_of("requirements.lock")
    assert "://" not in text
    packages = re.split(r"^(?=[a-z])", text, flags=re.M)[1:]
    line = (
        r"([a-z0-9.-]+)==([^ ;]+)( ; .+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+( *#.*\n)*"
    )
    versions: dict[str, list[str]] = {}  # markers may give one package several
    for package in packages:
        found = re.fullmatch(line, package)
        assert found, package
        versions.setdefault(found[1], []).append(found[2])
    for name, requirement in requirements(*CONDA_EXTRAS, "dev").items():
        assert name in versions, f"{name} is not in requirements.lock: run .ci/lock.sh"
        for version in versions[name]:
            assert requirement.specifier.contains(version, prereleases=True), (name, version)


def test_environments_install_the_extras_for_supported_pythons():
    (every,) = EXTRAS["all"]
    assert Requirement(every).extras == {*CONDA_EXTRAS, "dev"}
    entries = yaml.safe_load(text_of("environment.yml"))["dependencies"]
    (line,) = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    assert line == "-e .[all]"  # Binder copies the checkout first for "."
    assert {"pip", "git", "make"} < {entry for entry in entries if isinstance(entry, str)}
    (version,) = (entry.split("=")[1] for entry in entries if "python =" in entry)
    assert version in SUPPORTED and PROJECT["requires-python"] == ">=3.11"
    job = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]["check"]
    assert set(job["strategy"]["matrix"]["python"]) == SUPPORTED == {"3.11", "3.12", "3.13"}
    assert job["steps"][-1]["run"].endswith(".ci/run") and os.access(ROOT / ".ci/run", os.X_OK)


def test_nothing_is_published_before_the_check_and_no_secret_is_named():
    text = text_of(".github/workflows/publish.yml")
    jobs = yaml.safe_load(text)["jobs"]
    assert all(job["needs"] == "check" for name, job in jobs.items() if name != "check")
    assert jobs["check"]["uses"] == "./.github/workflows/ci.yml"
    assert jobs["package"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text and "password" not in text
    for command in re.findall(r"- run: make ([a-z-]+)", text):
        assert re.search(rf"^{command}:", text_of("Makefile"), re.M), command


def test_addresses_and_licence_are_those_of_pyproject():
    address, citation = PROJECT["urls"]["Repository"], yaml.safe_load(text_of("CITATION.cff"))
    assert yaml.safe_load(text_of("_config.yml"))["repository"]["url"] == address
    assert json.loads(text_of("codemeta.json"))["codeRepository"] == address
    assert citation["repository-code"] == address
    assert citation["license"] == PROJECT["license"] == "BSD-3-Clause"


def test_every_dependency_has_a_reason_beside_it():
    text = text_of("pyproject.toml").split("[project.scripts]")[0]
    reasons = dict(re.findall(r'^(?:    |\w+ = \[)"([\w.-]+)[^"]*"[\],]+ *# (\w.+)$', text, re.M))
    wanted = requirements(*CONDA_EXTRAS, "dev")
    assert set(wanted) - {canonicalize_name(name) for name in reasons} == set()


# -- the wheel --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_its_licence_and_no_table(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".csv", ".npz"))]
    assert wheel.stat().st_size < 200_000
    assert any(name.endswith("licenses/LICENSE") for name in names)
    record = f"lpsvdd-{lpsvdd.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"lpsvdd", record}


OUTSIDE = """
import sys
from pathlib import Path
import lpsvdd
from lpsvdd.cli import main

assert Path(lpsvdd.__file__).is_relative_to(sys.argv[1]), lpsvdd.__file__
rows = "".join(f"{i % 7},{i % 5},{i % 2}\\n" for i in range(40))
Path("table.csv").write_text("a,b,kind\\n" + rows)
words = ["--label", "kind", "--target", "1", "--output", "out.csv", "--model", "m", "--quiet"]
assert main(["fit", "table.csv", *words]) == 0
assert len(Path("out.csv").read_text().splitlines()) == 41
assert main(["score", "m", "table.csv", "--output", "again.csv", "--quiet"]) == 0
assert Path("again.csv").read_text() == Path("out.csv").read_text()
import lpsvdd.plots
try:
    import replication
except ModuleNotFoundError:
    print("all well")
"""


def test_wheel_works_outside_a_checkout(wheel, tmp_path):
    """Every command of the wheel, in an empty folder, with nothing of the checkout in reach."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(site)
    empty.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LPSVDD", "PYTHON"))}
    # -S and an explicit path: an editable install would put the checkout back in reach
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    environment["PYTHONPATH"] = os.pathsep.join([str(site), *packages])
    run = subprocess.run(
        [sys.executable, "-S", "-c", OUTSIDE, str(site)],
        cwd=empty, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout == "all well\n", run.stderr


# -- make -------------------------------------------------------------------------------------


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run make, not as a child of the `make test` that may run these tests."""
    inherited = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "VENV", "PYTHON"}
    clean = {key: value for key, value in os.environ.items() if key not in inherited}
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(
        command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False
    )


def test_make_alone_prints_what_readers_need_and_help_all_every_target():
    few, every = (
        set(re.findall(r"^  make ([a-z-]+)  +\w", make(*words).stdout, flags=re.M))
        for words in ((), ("help-all",))
    )
    assert few == {*"book test claims article reproduce reproduce-quick lab bench help-all".split()}
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text_of("Makefile"), flags=re.M)
    assert few < every == set(phony.split()) - {"conda"}


def test_make_in_a_conda_environment_uses_it_and_never_removes_it(tmp_path):
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    active = {"CONDA_PREFIX": str(tmp_path), "CONDA_DEFAULT_ENV": "mine"}
    planned = make("--dry-run", "test", **active).stdout
    assert f"{python} -m pytest" in planned and "setup.sh" not in planned
    assert str(tmp_path) not in make("--dry-run", "distclean", **active).stdout
    run = make("setup", **active)
    assert run.returncode != 0 and "conda env update --file environment.yml" in run.stderr
    (tmp_path / "condabin").mkdir()  # only base has it, whatever its name
    for base in (active, {**active, "CONDA_DEFAULT_ENV": "base"}, {**active, "VENV": ".venv"}):
        assert ".venv/bin/python -m pytest" in make("--dry-run", "test", **base).stdout


def test_make_sets_up_once_and_says_in_one_sentence_what_it_lacks(tmp_path):
    venv = tmp_path / "venv"
    run = make("setup", f"PYTHON={tmp_path / 'python'}", f"VENV={venv}")
    assert run.returncode != 0 and not venv.exists()
    assert "was not found; install Python 3.11 or newer" in run.stderr.splitlines()[0]
    words = ("--dry-run", "test", f"VENV={venv}")
    assert "setup.sh" in make(*words).stdout
    venv.mkdir()
    (venv / ".ready").touch()
    again = make(*words).stdout
    assert "setup.sh" not in again and "pytest" in again


def test_contributing_names_files_that_exist():
    folders = r"lpsvdd|replication|tests|\.ci|notebooks|book|results"
    named = re.findall(rf"`((?:{folders})/[^`*]*)`", text_of("CONTRIBUTING.md"))
    assert len(named) > 10 and [name for name in named if not (ROOT / name).exists()] == []
