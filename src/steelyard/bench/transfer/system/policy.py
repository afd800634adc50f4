"""The environment of a contract whose scope is the system -> what its image has, and so what may be changed in it."""

from __future__ import annotations

import hashlib
import json
import posixpath
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.bench.execution_spec import bench_specs, own_variables
from steelyard.bench.transfer.around_change import surroundings
from steelyard.bench.transfer.merged_settings import with_contents
from steelyard.bench.transfer.names.verifier_names import copy_targets
from steelyard.bench.transfer.system.change import SystemChange, SystemPolicy
from steelyard.bench.transfer.system.places import SYSTEM_BINARIES, ImageContents, SystemPaths, prefix_of
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import is_within
from steelyard.sandboxes.base import ROOT_HOME, Command

LOOK_S = 60.0
# p a program, d a folder of PATH by its real name, i an interpreter by its real name, l where a program is that is a link,
# k what the linker and shells are configured to read, x a folder with an interpreter in its bin, h a home, s where Python looks,
# f a file of the working folder.
# With the shell's own means: an image need not have many others.
_LOOK = """\
have() { for n in python3 python node nodejs perl ruby php java bash sh lua Rscript julia deno bun; do
  if [ -x "$1/$n" ] && [ ! -d "$1/$n" ]; then echo "$1/$n"; fi; done; }
for d in "$@"; do
  for f in "/$d"/* "/$d"/.[!.]*; do
    if [ -e "$f" ] || [ -L "$f" ]; then printf 'p %s\\n' "${f##*/}"; fi
    if [ -L "$f" ]; then printf 'l %s\\n' "$(readlink -f "$f" 2>/dev/null)"; fi
  done
  printf 'd %s\\n' "$(readlink -f "/$d" 2>/dev/null)"
  have "/$d" | while read -r f; do printf 'i %s\\n' "$f" "$(readlink -f "$f" 2>/dev/null)"; done
done
for t in /*; do
  case $t in /proc|/sys|/dev|/usr|/etc|/lib*|/var|/run|/boot|/bin|/sbin) continue;; esac
  for b in "$t"/bin "$t"/*/bin "$t"/.[!.]*/bin; do [ -d "$b" ] && [ "$(have "$b")" ] && printf 'x %s\\n' "${b%/bin}"; done
done
for t in /opt /root /home; do
  for b in $t/*/*/bin $t/*/.[!.]*/bin $t/*/*/*/bin $t/*/*/.[!.]*/bin; do
    [ -d "$b" ] && [ "$(have "$b")" ] && printf 'x %s\\n' "${b%/bin}"
  done
done
for f in /etc/ld.so.conf /etc/ld.so.conf.d/*; do
  [ -r "$f" ] && while read -r k; do printf 'k %s\\n' "$k"; done < "$f"
done
(set -f; IFS=': '; printf 'k %s\\n' $LD_LIBRARY_PATH $LD_PRELOAD $LD_AUDIT $BASH_ENV $ENV $PYTHONHOME $GIT_CONFIG_GLOBAL)
[ -r /etc/passwd ] && while IFS=: read -r a b c d e h s; do printf 'h %s\\n' "$h"; done < /etc/passwd
for d in "$@"; do for n in python3 python; do if [ -x "/$d/$n" ]; then
  "/$d/$n" -c 'import sys; [print("s", p) for p in sys.path if p]' </dev/null 2>/dev/null
fi; done; done
if count=0; [ "${workdir:-/}" != / ]; then
  find "$workdir" -xdev \\( -name node_modules -o -name .git -o -name site-packages \\) -prune -o -type f -print 2>/dev/null |
    while read -r f && [ $((count += 1)) -le 20000 ]; do printf 'f %s\\n' "$f"; done
fi
:
"""


def system_change(environment: Environment, change: Change, blobs: Blobs) -> SystemChange:
    """What of a change is written on a fresh container; where nothing changed, nothing is looked at."""
    if not change.entries:
        return SystemChange((), ())
    split = system_policy(environment, blobs).split(change.entries)
    return split._replace(overlays=with_contents(split.overlays, split.merged, environment.cache))


def system_policy(environment: Environment, blobs: Blobs) -> SystemPolicy:
    sandbox_spec = environment.sandbox_spec()
    workdir = sandbox_spec.workdir.strip("/")
    has = _installed(environment)
    interpreters = [f"/{prefix}/bin/python3" for prefix in (*has.needed, *has.others)]
    return SystemPolicy(
        SystemPaths(workdir, has),
        environment.contract.brief,
        blobs,
        environment.contract.spec.exports,
        surroundings(environment, interpreters),
        copy_targets(environment.contract, workdir),
    )


def _installed(environment: Environment) -> ImageContents:
    """Looked at in a container of the image, once."""
    sandbox_spec = environment.sandbox_spec()
    folders = tuple(dict.fromkeys((*SYSTEM_BINARIES, *_folders_of_path(environment))))

    def look(folder: Path) -> None:
        with environment.backend.start(sandbox_spec) as sandbox:
            line = f"set -- {shlex.join(folders)}; workdir={shlex.quote(sandbox_spec.workdir)}\n{_LOOK}"
            done = sandbox.run(
                Command(("/bin/sh", "-c", line), cwd="/", timeout_s=LOOK_S, keep_bytes=8 << 20)
            )
        if done.exit_code != 0:
            raise InfraFault(f"the programs of the image {sandbox_spec.image} could not be listed")
        (folder / "listing.txt").write_bytes(done.stdout.head + done.stdout.tail)

    key = json.dumps(
        [
            sandbox_spec.image,
            folders,
            sandbox_spec.workdir,
            sorted({**sandbox_spec.image_env, **sandbox_spec.env}.items()),
            _LOOK,
        ]
    )
    kept = (
        environment.cache.build("system_listing", hashlib.sha256(key.encode()).hexdigest(), look)
        / "listing.txt"
    )
    return parse_listing(kept.read_text(errors="surrogateescape"), folders, _homes(environment))


def _folders_of_path(environment: Environment) -> Iterator[str]:
    """Of the image's, the contract's and each verifier's PATH; a relative one begins where commands start."""
    sandbox_spec = environment.sandbox_spec()
    own = [own_variables(spec) for spec in bench_specs(environment.contract.checks)]
    for env in ({**sandbox_spec.image_env, **sandbox_spec.env}, *own):
        for folder in env.get("PATH", "").split(":") if env.get("PATH") else ():
            yield _plain(posixpath.join("/", sandbox_spec.workdir, folder))


def _homes(environment: Environment) -> tuple[str, ...]:
    return (_plain({"HOME": ROOT_HOME, **environment.sandbox_spec().env}["HOME"]),)


def parse_listing(listing: str, folders: tuple[str, ...], homes: tuple[str, ...] = ()) -> ImageContents:
    """From what `_LOOK` printed."""
    found: dict[str, list[str]] = {kind: [] for kind in "pdilkxhsf"}
    for line in listing.splitlines():
        kind, _, value = line.partition(" ")
        if kind == "p" or (kind in found and value.startswith("/")):
            found[kind].append(value if kind == "p" else _plain(value))
    of_system = ("usr", *SYSTEM_BINARIES)
    needed = [*(prefix_of(posixpath.dirname(one)) for one in found["i"]), *found["k"]]
    others = [*found["x"], *(place for one in found["l"] for place in _around(one))]

    def own(ones: Iterable[str]) -> tuple[str, ...]:
        """Of the system's own folders nothing needs to be known."""
        return tuple(
            one for one in dict.fromkeys(ones) if one and not any(is_within(one, top) for top in of_system)
        )

    return ImageContents(
        path=tuple(filter(None, dict.fromkeys((*folders, *found["d"])))),
        programs=frozenset(found["p"]),
        needed=own(needed),
        others=own(others),
        homes=tuple(filter(None, dict.fromkeys((*homes, *found["h"])))),
        imports=tuple(filter(None, dict.fromkeys(found["s"]))),
        files=frozenset(found["f"]),
    )


def _around(program: str) -> tuple[str, ...]:
    """A program, and the folder that is its own: not all of /data for the sake of /data/run.sh."""
    folder = posixpath.dirname(program)
    prefix = prefix_of(folder)
    return (program, prefix) if prefix != folder or "/" in folder else (program,)


def _plain(path: str) -> str:
    return posixpath.normpath(f"/{path}").strip("/")
