#!/usr/bin/env bash
# Make the virtual environment: .ci/setup.sh PYTHON FOLDER. Called by the Makefile.
set -euo pipefail
python=$1 venv=$2

stop() {
    echo "set-up stopped: $*" >&2
    exit 1
}

command -v "$python" >/dev/null ||
    stop "'$python' was not found; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "Python $version is too old, 3.11 or newer is needed; name one: make PYTHON=/path/to/python3"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    stop "Python $version has no venv module; install it (Debian and Ubuntu: apt-get install python$version-venv)"

echo "Setting up $venv with Python $version: a few minutes, once."
"$python" -m venv "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check install --quiet)
"${pip[@]}" --require-hashes -r requirements.lock
# The build back end comes from the lock too, so nothing is fetched that has no hash.
"${pip[@]}" --no-deps --no-build-isolation --editable .
