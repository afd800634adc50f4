#!/bin/bash
# Nothing of the agent's system is here but what was declared.
reward=0
[ "$PWD" = /grade ] && cmp -s /app/out/sorted.txt /tests/expected.txt && [ "$(cat /app/out/kept.txt)" = kept ] \
  && [ "$(cat /logs/artifacts/said.txt)" = done ] && [ ! -e /app/words.txt ] && [ ! -e /app/out/half.tmp ] \
  && grep -q "sleep 4321" /logs/artifacts/running.txt && reward=1
echo "$reward" > /logs/verifier/reward.txt
