#!/bin/sh
set -eu
cd "$(dirname "$0")/.."
make -s clean test
