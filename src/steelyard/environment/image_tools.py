"""An image -> the versions of the package managers in it: asked once for each image, in a sandbox of its own.

cache/package_managers/<key>/versions.json    {"pip": "pip 25.0 from ...", "npm": null}
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import orjson

from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, InfraFault
from steelyard.sandboxes.base import Command

NAMES = (
    *("pip", "pip3", "uv", "poetry", "conda", "npm", "yarn", "pnpm", "cargo", "go", "mvn", "gradle"),
    *("gem", "bundle", "composer", "dotnet", "apt-get", "apk", "dnf", "yum"),
)
ASK_S = 60.0
MOST_CHARS = 200
# A line each, name and first line of the answer; `go` has a verb for it.
_ASK = """
for name in "$@"; do
  command -v "$name" > /dev/null 2>&1 || continue
  if [ "$name" = go ]; then said=$(go version 2> /dev/null); else said=$("$name" --version 2> /dev/null < /dev/null); fi
  printf '%s\\t%s\\n' "$name" "$(printf '%s' "$said" | head -n 1)"
done
"""


def image_package_managers(environment: Environment) -> dict[str, str] | None:
    """Name -> what it says of itself; None where the image could not be asked."""
    image = environment.image.id if environment.image else ""
    key = hashlib.sha256(f"{image}\n{_ASK}\n{NAMES}".encode()).hexdigest()[:40]
    try:
        folder = environment.cache.build("package_managers", key, partial(_ask, environment))
        found: dict[str, str] = orjson.loads((folder / "versions.json").read_bytes())
    except (InfraFault, AgentFault, OSError, ValueError):
        return None
    return found


def _ask(environment: Environment, folder: Path) -> None:
    argv = ("/bin/sh", "-c", _ASK, "ask", *NAMES)
    with environment.backend.start(environment.sandbox_spec()) as sandbox:
        done = sandbox.run(Command(argv, timeout_s=ASK_S))
    if done.exit_code is None:
        raise InfraFault("the package managers of the image could not be listed")
    rows = (line.partition("\t") for line in done.stdout.text.splitlines())
    versions = {name: version[:MOST_CHARS] for name, _, version in rows if name in NAMES}
    (folder / "versions.json").write_bytes(orjson.dumps(versions))
