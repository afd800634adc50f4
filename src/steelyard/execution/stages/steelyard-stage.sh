#!/bin/sh
# Enter a stage of the run: inspect (the workspace is read-only), write, or test.
d=/run/steelyard/stage
if [ $# -ne 1 ]; then echo "usage: steelyard-stage inspect|write|test" >&2; exit 2; fi
rm -f "$d/answer.$$"
printf '%s' "$1" > "$d/new.$$" && mv "$d/new.$$" "$d/request.$$" || exit 3
until [ -s "$d/answer.$$" ]; do sleep 0.05; done
read -r word why < "$d/answer.$$"
rm -f "$d/answer.$$"
if [ "$word" = ok ]; then exit 0; fi
echo "steelyard-stage: $why" >&2
exit 1
