#!/bin/bash
cmp -s /tests/word.txt /app/given/word.txt && bash /tests/check.sh second || echo 0 > /logs/verifier/reward.txt
