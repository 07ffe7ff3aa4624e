#!/usr/bin/env bash
# Rewrite requirements.lock: one file for Python 3.11–3.13 on every platform, with hashes and without
# the address of any package index. Needs uv; the version of every package may change.
set -euo pipefail
cd "$(dirname "$0")/.."
uv pip compile pyproject.toml --extra all --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links \
    --custom-compile-command ".ci/lock.sh" --quiet --output-file requirements.lock "$@"
if grep -nE '^(--|-[a-z] )|://' requirements.lock; then
    echo "requirements.lock names an address or an option" >&2
    exit 1
fi
