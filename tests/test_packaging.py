"""Promises of the repository's own files: imports, lock, environment, metadata, make."""

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
CONDA_EXTRAS = (
    "reference", "plots", "cluster", "replication", "book", "lab", "article", "test"
)  # fmt: skip


SUPPORTED = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line}


def requirements(*extras: str) -> dict[str, Requirement]:
    """Requirements of the package and of some extras, by name, without references to itself."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r for r in parsed if r.name != "lpsvdd"}


def locked() -> dict[str, list[str]]:
    """Versions in requirements.lock by name; markers may give one several."""
    found: dict[str, list[str]] = {}
    pattern = re.compile(r"^([a-z0-9.-]+)==([^ ;]+)", re.M)
    for name, version in pattern.findall((ROOT / "requirements.lock").read_text()):
        found.setdefault(name, []).append(version)
    return found


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Not as a child of the `make test` that may run these tests.
    inherited = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    clean = {key: value for key, value in os.environ.items() if key not in inherited}
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def stub(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


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
        ("lpsvdd.plots.style()", "matplotlib", "plots"),
        ("lpsvdd.plots.use_style()", "matplotlib", "plots"),
        ("lpsvdd.plots.score_histogram([0.0, 1.0])", "matplotlib", "plots"),
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


def test_imports_go_one_way():
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_all_extra_names_what_make_needs():
    (line,) = EXTRAS["all"]
    assert Requirement(line).extras == {*CONDA_EXTRAS, "dev"}


def test_lock_satisfies_pyproject_with_a_hash_for_everything_and_no_address():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            package = r"[a-z0-9.-]+==\S+( ; .+)? \\$"
            assert re.match(package + r"|    --hash=sha256:[0-9a-f]{64}( \\)?$", line), line
    packages = re.split(r"^(?=[a-z])", text, flags=re.M)[1:]
    assert len(packages) > 100 and all("--hash=sha256:" in package for package in packages)
    versions = locked()
    for name, requirement in requirements(*CONDA_EXTRAS, "dev").items():
        assert name in versions, f"{name} is not in requirements.lock: run .ci/lock.sh"
        for version in versions[name]:
            assert requirement.specifier.contains(version, prereleases=True), (name, version)
    rebuild = {canonicalize_name(Requirement(line).name) for line in EXTRAS["data-rebuild"]}
    assert not rebuild & set(versions)


def test_conda_environment_installs_the_extras_for_a_supported_python():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (line,) = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    assert line == "-e .[all]"  # Binder copies the checkout first for "."
    assert {"pip", "git", "make"} < {entry for entry in entries if isinstance(entry, str)}
    (version,) = (entry.split("=")[1] for entry in entries if "python =" in entry)
    assert version in SUPPORTED


def workflow(name: str) -> dict[str, dict]:
    """The jobs of a workflow of GitHub."""
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text())["jobs"]


def test_public_check_runs_on_every_supported_python():
    job = workflow("ci.yml")["check"]
    assert SUPPORTED == set(job["strategy"]["matrix"]["python"]) == {"3.11", "3.12", "3.13"}
    assert PROJECT["requires-python"] == ">=3.11"
    assert job["steps"][-1]["run"].endswith(".ci/run") and os.access(ROOT / ".ci/run", os.X_OK)


def test_nothing_is_published_before_the_check_and_no_secret_is_named():
    jobs = workflow("publish.yml")
    assert all(job["needs"] == "check" for name, job in jobs.items() if name != "check")
    assert jobs["check"]["uses"] == "./.github/workflows/ci.yml"
    assert jobs["package"]["permissions"] == {"id-token": "write"}
    text = (ROOT / ".github/workflows/publish.yml").read_text()
    assert "secrets." not in text and "password" not in text
    for command in re.findall(r"- run: make ([a-z-]+)", text):
        assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.M), command


def test_container_runs_targets_of_make_as_its_editor_does():
    docker = (ROOT / ".devcontainer/Dockerfile").read_text()
    editor = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert f"AS {editor['build']['target']}\n" in docker and "RUN make setup" in docker
    assert editor["postCreateCommand"] == "make setup"
    planned = make("--dry-run", "lab", "VENV=v", "LAB=--ip=0.0.0.0").stdout
    assert "v/bin/jupyter lab --ip=0.0.0.0 notebooks" in planned


def test_addresses_are_those_of_pyproject():
    address = PROJECT["urls"]["Repository"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert config["repository"]["url"] == address
    assert json.loads((ROOT / "codemeta.json").read_text())["codeRepository"] == address
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["repository-code"] == address
    assert citation["license"] == PROJECT["license"] == "BSD-3-Clause"


def test_every_dependency_has_a_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text().split("[project.scripts]")[0]
    reasons = dict(re.findall(r'^(?:    |\w+ = \[)"([\w.-]+)[^"]*"[\],]+ *# (\w.+)$', text, re.M))
    wanted = requirements(*CONDA_EXTRAS, "dev", "data-rebuild")
    assert set(wanted) - {canonicalize_name(name) for name in reasons} == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


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


def test_the_wheel_works_outside_a_checkout(wheel, tmp_path):
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


def test_the_wheel_holds_the_package_its_licence_and_no_table(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".csv", ".npz"))]
    assert wheel.stat().st_size < 200_000
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {
        "lpsvdd",
        f"lpsvdd-{lpsvdd.__version__}.dist-info",
    }


def targets(text: str) -> list[str]:
    """The targets in what make prints about itself."""
    return re.findall(r"^  make ([a-z-]+)  +\w", text, flags=re.M)


def test_make_alone_prints_what_readers_need_and_help_all_every_target():
    few, every = make(), make("help-all")
    assert few.returncode == every.returncode == 0
    assert sorted(targets(few.stdout)) == sorted(
        ["book", "test", "claims", "article", "reproduce", "reproduce-quick", "lab", "bench"]
        + ["help-all"]
    )
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert set(targets(every.stdout)) == set(phony.split()) - {"conda"}
    assert {"archive", "codecheck", *targets(few.stdout)} <= set(targets(every.stdout))


def test_make_in_a_conda_environment_uses_it_and_never_removes_it(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    python = stub(programs / "python", "exit 1")
    active = {"CONDA_PREFIX": str(tmp_path), "CONDA_DEFAULT_ENV": "mine"}
    planned = make("--dry-run", "test", **active).stdout
    assert f"{python} -m pytest" in planned and "setup.sh" not in planned
    assert str(tmp_path) not in make("--dry-run", "distclean", **active).stdout
    run = make("setup", **active)
    assert run.returncode != 0 and "conda env update --file environment.yml" in run.stderr
    for base in ({**active, "CONDA_DEFAULT_ENV": "base"}, {**active, "VENV": ".venv"}):
        assert ".venv/bin/python -m pytest" in make("--dry-run", "test", **base).stdout
    (tmp_path / "condabin").mkdir()  # only base has it, whatever its name
    assert ".venv/bin/python -m pytest" in make("--dry-run", "test", **active).stdout


def test_make_sets_up_once(tmp_path):
    (tmp_path / "venv").mkdir()
    words = ("--dry-run", "test", f"VENV={tmp_path / 'venv'}")
    assert "setup.sh" in make(*words).stdout
    (tmp_path / "venv" / ".ready").touch()
    again = make(*words).stdout
    assert "setup.sh" not in again and "pytest" in again


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (None, "was not found; install Python 3.11 or newer"),
        ('case "$2" in *print*) echo 3.9;; *) exit 1;; esac', "Python 3.9 is too old"),
        (
            'case "$2" in *print*) echo 3.11;; *ensurepip*) exit 1;; esac',
            "Python 3.11 has no venv module; install it (Debian and Ubuntu: apt-get install",
        ),
    ],
    ids=["absent", "old", "without venv"],
)
def test_a_missing_tool_gets_one_sentence(tmp_path, script, sentence):
    python = tmp_path / "python"
    if script:
        stub(python, script)
    run = make("setup", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert run.returncode != 0
    first, *rest = run.stderr.splitlines()
    assert first.startswith("set-up stopped: ") and sentence in first
    assert len(rest) == 1 and rest[0].startswith("make: ")
    assert not (tmp_path / "venv").exists()


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = r"lpsvdd|replication|tests|\.ci|notebooks|book|results"
    named = re.findall(rf"`((?:{folders})/[^`*]*)`", text)
    assert len(named) > 10 and [name for name in named if not (ROOT / name).exists()] == []
