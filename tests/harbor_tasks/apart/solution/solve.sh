#!/bin/bash
sort /app/words.txt > /app/out/sorted.txt
setsid sleep 4321 > /dev/null 2>&1 &
echo half > /app/out/half.tmp
mkdir -p /logs/artifacts
echo done > /logs/artifacts/said.txt
