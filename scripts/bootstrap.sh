#!/bin/sh
# A bare Debian or Ubuntu -> .venv with Steelyard in it.   usage: scripts/bootstrap.sh run|dev
#
#   run   what `steelyard` needs: requirements.lock, then this project, editable
#   dev   that, and what `make test` and `make check` need: requirements-dev.lock
#
# Installs missing system packages when it is root and there is apt-get; otherwise says what to type, exit 3.
# A second call is instant: it starts again only when the lock, pyproject.toml or the C sources changed.
# PYTHON chooses the interpreter, SANDBOX=local does without bubblewrap.
set -eu
cd "$(dirname "$0")/.."
want=${1:-run}
case $want in
    run) lock=requirements.lock ;;
    dev) lock=requirements-dev.lock ;;
    *) echo "usage: scripts/bootstrap.sh run|dev" >&2; exit 2 ;;
esac

say() { echo "steelyard: $*" >&2; }

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if command -v "$python" >/dev/null 2>&1 && recent "$python"; then command -v "$python"; return; fi
    done
}

# ensurepip alone is a package of its own on Debian: `import venv` works without it, `-m venv` does not.
can_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# By doing, not by package name: a compiler without libc.a cannot build the static init.
can_link_static() {
    command -v cc >/dev/null 2>&1 || return 1
    program=$(mktemp)
    echo 'int main(void) { return 0; }' | cc -static -x c - -o "$program" 2>/dev/null && status=0 || status=1
    rm -f "$program"
    return $status
}

missing_packages() {
    command -v git >/dev/null 2>&1 || echo git
    command -v make >/dev/null 2>&1 || echo make
    if [ "${SANDBOX:-}" != local ] && ! command -v bwrap >/dev/null 2>&1; then echo bubblewrap; fi
    can_link_static || echo gcc libc6-dev
    if [ "$want" = dev ] && ! command -v pgrep >/dev/null 2>&1; then echo procps; fi # tests look for left-overs
    [ -x .venv/bin/python ] && recent .venv/bin/python && return
    python=$(find_python)
    if [ -z "$python" ]; then
        # Ubuntu 22.04 has 3.10 as python3 and 3.11 beside it; everyone newer has what we need.
        if command -v python3 >/dev/null 2>&1; then echo python3.11 python3.11-venv; else echo python3 python3-venv; fi
    elif ! can_venv "$python"; then
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    fi
}

install_packages() {
    packages=$(missing_packages | tr '\n' ' ')
    packages=${packages% }
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing: $packages (Debian's names). Install them with this system's package manager, then try again."
        exit 3
    fi
    if [ "$(id -u)" -ne 0 ]; then
        say "missing: $packages. Type this, then try again:"
        echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $packages" >&2
        case $packages in
            bubblewrap) echo "or, without any isolation: make demo SANDBOX=local" >&2 ;;
        esac
        exit 3
    fi
    say "installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of packages
    if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        say "apt-get could not install: $packages"
        exit 3
    fi
    rm -f "$log"
}

# Programs that some tests need; without them these tests are skipped, in words.
optional_packages() {
    [ "$want" = dev ] || return 0
    command -v chromium >/dev/null 2>&1 || echo chromium # the viewer is read in a browser
    if ! command -v initdb >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        echo postgresql # the store is tested with a server of its own
    fi
    command -v go >/dev/null 2>&1 || echo golang-go # changed Go tests are compiled and run
    [ -x /usr/bin/cargo ] || echo cargo # and Rust tests; sandboxes see what is in /usr
}

install_optional() {
    packages=$(optional_packages | tr '\n' ' ')
    packages=${packages% }
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "without $packages some tests are skipped"
        return 0
    fi
    say "installing $packages"
    # shellcheck disable=SC2086  # a list of packages
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } \
        >/dev/null 2>&1 </dev/null; then
        say "apt-get could not install $packages: some tests are skipped"
    fi
}

fingerprint() {
    # cksum is not for secrecy here: it notices that an input changed.
    cat "$lock" pyproject.toml hatch_build.py scripts/bootstrap.sh src/steelyard/sandboxes/init/*.c 2>/dev/null | cksum
    echo "$want $PWD"
}

stamp=.venv/.steelyard-$want
is_stamped() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ]; }

ready() {
    [ "${SANDBOX:-}" = local ] || command -v bwrap >/dev/null 2>&1 || return 1
    [ -x .venv/bin/steelyard ] && [ -x src/steelyard/sandboxes/init/init ] || return 1
    [ -f src/steelyard/sandboxes/init/init.source ] || return 1
    # What `dev` has installed is enough for `run`.
    is_stamped || { [ "$want" = run ] && (want=dev lock=requirements-dev.lock stamp=.venv/.steelyard-dev; is_stamped); }
}

if ready; then exit 0; fi
install_packages
install_optional
mkdir -p .venv
exec 9>.venv/.bootstrap.lock # two makes at once wait for each other
if command -v flock >/dev/null 2>&1; then flock 9; fi
if ready; then exit 0; fi

if ! { [ -x .venv/bin/python ] && recent .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
    python=$(find_python)
    if [ -z "$python" ]; then say "no Python 3.11 or newer on PATH; set PYTHON=/path/to/python3"; exit 3; fi
    say "making .venv with $("$python" --version)"
    "$python" -m venv .venv
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1
say "installing $lock (once; a minute or two)"
# Wheels only: a source package would bring build tools that no lock names.
.venv/bin/python -m pip install --quiet --no-compile --require-hashes --only-binary :all: -r "$lock" </dev/null
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable . </dev/null
# Once, on all cores, and without the tests of others: pip would compile on one, and an editable project never.
.venv/bin/python -m compileall -q -j 0 -x '/tests/' .venv/lib src/steelyard </dev/null || true
fingerprint >"$stamp"
