#!/bin/bash
mkdir -p /logs/verifier
source /tests/lib/checks.sh
if passed; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
