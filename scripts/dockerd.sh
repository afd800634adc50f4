#!/bin/sh
# A command -> the same command with a container engine beside it, if one can be had.   usage: scripts/dockerd.sh COMMAND...
#
# An engine that answers already is used as it is. Otherwise root with dockerd installed gets one of its own, with its
# data in a temporary folder, without network, gone when the command ends. Whatever fails on the way, the command runs:
# tests that need containers are then skipped, and say so. CONTAINERS=no does without;
# CONTAINERS=all runs every case in containers, of which one of each kind runs otherwise.
set -u

answers() {
    [ -S "$1" ] && /usr/bin/env python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2>/dev/null
}

can_start() {
    [ "${CONTAINERS:-}" != no ] && [ -z "${DOCKER_HOST:-}" ] && ! answers /var/run/docker.sock &&
        [ "$(id -u)" -eq 0 ] && command -v dockerd >/dev/null 2>&1
}

can_start || exec "$@"

place=$(mktemp -d /tmp/steelyard-dockerd.XXXXXX) || exec "$@"
daemon=
mounted=

finish() {
    trap - EXIT INT TERM HUP
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null
        wait "$daemon" 2>/dev/null
    fi
    # Each network namespace of the engine is mounted on a file of its name, and stays so.
    for name in "$place"/exec/netns/*; do
        [ ! -e "$name" ] || umount -l "$name" 2>/dev/null
    done
    [ -z "$mounted" ] || umount -l "$place/data" 2>/dev/null
    rm -rf "$place"
}
trap finish EXIT
trap 'finish; exit 130' INT TERM HUP

mkdir "$place/data"
# On an overlay (a container, say) the engine could only copy whole images; an overlay on a tmpfs works.
if [ "$(stat -f -c %T "$place")" = overlayfs ] && mount -t tmpfs -o size=4g tmpfs "$place/data" 2>/dev/null; then
    mounted=yes
fi
dockerd --data-root "$place/data" --exec-root "$place/exec" --pidfile "$place/pid" --host "unix://$place/docker.sock" \
    --bridge=none --iptables=false --ip6tables=false >"$place/log" 2>&1 </dev/null &
daemon=$!
for _ in $(seq 100); do
    answers "$place/docker.sock" && break
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.2
done
if answers "$place/docker.sock"; then
    export DOCKER_HOST="unix://$place/docker.sock"
else
    echo "steelyard: dockerd does not start here, so tests with containers are skipped: $(tail -n 1 "$place/log")" >&2
fi
"$@"
status=$?
finish
exit $status
