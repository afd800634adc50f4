#!/bin/bash
test -f /app/first || exit 3
echo second > /app/second
