#!/bin/bash
[ -z "$EXPECTED" ] && echo "$GREETING $ANSWER" > /app/greeting.txt
