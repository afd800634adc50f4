#!/bin/sh
sed -i 's/ - 1//' src/total.py
printf '{"total": %d}' "$(python3 src/total.py numbers.txt)" > report.json
