#!/bin/bash
[ "$(cat count 2>/dev/null)" = "$(nproc)" ] && echo 1.0 > /logs/verifier/reward.txt || echo 0.0 > /logs/verifier/reward.txt
