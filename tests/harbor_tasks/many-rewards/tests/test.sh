#!/bin/sh
# Harbor's flat object: several rewards, one called `reward`.
total=$(sed -n 's/.*"total": *\([0-9]*\).*/\1/p' /app/report.json)
style=$(grep -c "sum" /app/src/total.py)
right=0
[ "$total" = 21 ] && [ "$SCALE" = 3 ] && right=1
printf '{"reward": %d, "style": %d}' "$right" "$style" > /logs/verifier/reward.json
