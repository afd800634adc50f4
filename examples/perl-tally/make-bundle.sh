#!/bin/sh
# history.fi (what `git fast-export main` wrote) -> repo.bundle. The commits are always the same ones.
set -eu
cd "$(dirname "$0")"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
git init -q --bare "$made"
git -C "$made" fast-import --quiet <history.fi
git -C "$made" -c pack.threads=1 bundle create -q "$PWD/repo.bundle" main
git -C "$made" log --format='%H %s' main
