#!/bin/sh
set -eu
cd "$(dirname "$0")/.."
PYTHONPATH=src:.deps python3 -m unittest discover -q -s tests -t .
