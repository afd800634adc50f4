#!/bin/bash
# As most tasks do it: tests, then their exit code as the reward.
python3 /tests/test_outputs.py -v
if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
