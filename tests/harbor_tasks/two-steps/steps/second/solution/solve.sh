#!/bin/bash
test -f /app/first || exit 3
cat /app/given/word.txt > /app/second
