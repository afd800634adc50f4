#!/bin/sh
set -eu
cd "$(dirname "$0")/.."
PYTHONPATH=.deps:src python3 -m unittest discover -q -s tests -t .
