"""The programs of split oracles that run inside a sandbox -> their command lines and the first line of their stdin."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

INSIDE = Path(__file__).parents[1] / "inside" / "candidate"
Program = Literal["bridge", "worker", "remote_ops"]
PARTS: dict[Program, tuple[str, ...]] = {
    "bridge": ("values", "bridge"),
    "worker": ("values", "serve", "worker"),
    "remote_ops": ("values", "serve", "remote_ops"),
}
# What split tests import: every file of the folder that is not one of the programs.
FOR_TESTS = ("__init__", "values", "link", "exceptions", "proxies")

# Keeps the tree off the path until our own imports are done: it may have a module named `json`.
BOOT = """import sys, os
path, here = sys.path[:], os.getcwd()
sys.path[:] = [one for one in path if one and one != here and not one.startswith(here + "/")]
import json, types
source = os.fdopen(os.dup(0), "rb")
order = json.loads(source.readline().decode())
package = sys.modules["_steelyard"] = types.ModuleType("_steelyard")
package.__path__ = []
for name, text in order["parts"]:
    module = sys.modules["_steelyard." + name] = types.ModuleType("_steelyard." + name)
    module.__package__ = "_steelyard"
    exec(compile(text, "<" + name + ">", "exec"), module.__dict__)
sys.path[:] = path
sys.argv = [""]
if order["ready"]:
    os.write(1, b'{"ready":%d}\\n' % os.getpid())
module.main(source, order["config"])
"""
ISOLATED = ("python3", "-I", "-S", "-B", "-c", BOOT)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a harness program is started in the candidate's sandbox."""

    argv: tuple[str, ...]
    first: bytes  # the line on its stdin that it begins with
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


def first_line(program: Program, config: dict[str, Any]) -> bytes:
    order = {"parts": _parts(program), "config": config, "ready": program != "bridge"}
    return json.dumps(order).encode() + b"\n"


@functools.cache
def _parts(program: Program) -> Sequence[tuple[str, str]]:
    return [(name, (INSIDE / f"{name}.py").read_text()) for name in PARTS[program]]
