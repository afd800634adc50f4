#!/bin/bash
# Who verifies is the same user, and may write over what was written.
[ "$(id -u)" = 1234 ] && [ "$(cat /app/name)" = ann ] && echo more >> /app/name && echo 1 > /logs/verifier/reward.txt \
  || echo 0 > /logs/verifier/reward.txt
