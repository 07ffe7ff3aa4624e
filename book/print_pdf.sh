#!/usr/bin/env bash
# Print one HTML page to PDF with headless Chromium: book/print_pdf.sh PAGE.html OUT.pdf
set -euo pipefail
page=$(realpath "$1") out=$2
for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do
    browser=$(command -v "$name") && break
done
if [ -z "${browser:-}" ]; then
    echo "No Chromium found: install the package 'chromium', or set CHROMIUM." >&2
    exit 1
fi
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
# --no-sandbox is needed for root in a container; nothing but our own page is opened.
"$browser" --headless --no-sandbox --disable-gpu --disable-background-networking \
    --disable-component-update --disable-sync --no-first-run --user-data-dir="$profile" \
    --virtual-time-budget=15000 --no-pdf-header-footer --print-to-pdf="$out" "file://$page"
echo "The book as PDF: $(realpath "$out")"
