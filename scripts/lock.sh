#!/bin/sh
# pyproject.toml -> requirements.lock (build and run) and requirements-dev.lock (and test), for Python 3.11-3.13.
# Versions and hashes only: an address in a lock file would name whichever mirror its author happened to use.
set -eu
cd "$(dirname "$0")/.."

uv=$(command -v uv || true)
[ -x .venv/bin/uv ] && uv=$PWD/.venv/bin/uv
if [ -z "$uv" ]; then
    .venv/bin/python -m pip install --quiet uv
    uv=$PWD/.venv/bin/uv
fi

compile() {
    out=$1
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary :all: "$@" \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        pyproject.toml --output-file "$out.new"
    {
        echo "# Made by 'make lock' from pyproject.toml. Versions and hashes, no addresses: docs/decisions/0001."
        cat "$out.new"
    } >"$out"
    rm "$out.new"
    if grep -nE '://|--(extra-)?index-url|--find-links' "$out"; then
        echo "$out names a host (above)" >&2
        exit 1
    fi
}

# Starting from the old lock keeps versions that still fit; UPGRADE=1 takes the newest.
for lock in requirements.lock requirements-dev.lock; do
    if [ -z "${UPGRADE:-}" ] && [ -f "$lock" ]; then cp "$lock" "$lock.new"; fi
done
compile requirements.lock --group build
compile requirements-dev.lock --group dev
