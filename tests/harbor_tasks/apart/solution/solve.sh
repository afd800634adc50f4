#!/bin/bash
sort /app/words.txt > /app/out/sorted.txt
echo half > /app/out/half.tmp
mkdir -p /logs/artifacts
echo done > /logs/artifacts/said.txt
