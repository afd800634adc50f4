#!/bin/bash
cd /app || exit
if [ "$(cat greeting.txt)" = "$EXPECTED" ] && [ "$GREETING" = good ] && [ -z "$ANSWER" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
