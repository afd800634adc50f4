#!/bin/bash
set -e
[ "$HOME" = /home/ann ]
! echo x 2>/dev/null > /etc/shadow.mine
id -un > /app/name
