#!/usr/bin/env bash
# The lowest versions that pyproject.toml allows, really tried: a temporary environment with exactly
# those of the package's own requirements, and the tests that touch them most. Takes a minute or two.
# For Python 3.13 some of them have no wheel; there the first version that has one is tried.
#   .ci/minimum.sh [pytest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" - > "$folder/lowest.txt" <<'PYTHON'
import sys
import tomllib

FIRST_WHEEL = {"numpy": "2.1.0", "scipy": "1.14.1", "pandas": "2.2.3"}  # for Python 3.13

with open("pyproject.toml", "rb") as handle:
    for line in tomllib.load(handle)["project"]["dependencies"]:
        name, lowest = line.split(">=")
        if sys.version_info >= (3, 13):
            lowest = FIRST_WHEEL.get(name, lowest)
        print(f"{name}=={lowest}")
PYTHON
cat "$folder/lowest.txt"
"$folder/venv/bin/pip" install --quiet --only-binary=:all: --requirement "$folder/lowest.txt" pytest hypothesis
# What these need in turn is the newest that pip finds, as for users.
export PYTHONPATH=$PWD
lpsvdd() { "$folder/venv/bin/python" -c 'import sys; from lpsvdd.cli import main; sys.exit(main())' "$@"; }
lpsvdd fit --help > /dev/null
"$folder/venv/bin/python" - > "$folder/wine.csv" <<'PYTHON'
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
print(wine.data[wine.target == 1].to_csv(index=False), end="")
PYTHON
lpsvdd fit "$folder/wine.csv" --nu 0.1 --p 1.5
"$folder/venv/bin/python" -m pytest -q -p no:cacheprovider \
    "${@:-tests/method/test_persistence.py}"
