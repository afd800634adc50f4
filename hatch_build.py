"""init.c -> init and init.source in src/steelyard/sandboxes/init, whenever the package is built or installed from source.

init            the static program
init.source     the SHA-256 of init.c and the files that it includes, by which an installation sees that the program is the source's
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ("-Os", "-static", "-pthread", "-s", "-Wall", "-Wextra")
_FIX = "install a C compiler with a static libc: `apt-get install gcc libc6-dev`"


class InitBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        if self.target_name != "wheel":
            return  # a source distribution carries the source
        self._compile(Path(self.root, "src/steelyard/sandboxes/init"))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platforms(sysconfig.get_platform())}"

    def _compile(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise SystemExit(f"steelyard: no C compiler for its init; {_FIX}")
        fresh = folder / "init.new"  # renamed at the end: a running launcher may be reading the old one
        command = [compiler, *_FLAGS, "-o", str(fresh), str(folder / "init.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"steelyard: init.c does not compile; {_FIX}\n{done.stderr}")
        fresh.rename(folder / "init")
        digest = folder / "init.source.new"
        digest.write_text(_source_digest(folder) + "\n")
        digest.rename(folder / "init.source")


def _source_digest(folder: Path) -> str:
    """As `steelyard.sandboxes.init.binary` computes it."""
    source = folder / "init.c"
    others = sorted(path for path in folder.glob("*.c") if path != source)
    return hashlib.sha256(b"".join(path.read_bytes() for path in (source, *others))).hexdigest()


def platforms(host: str) -> str:
    """linux-x86_64 -> manylinux_2_17_x86_64.musllinux_1_1_x86_64: the program is static and asks nothing of a libc."""
    system, _, machine = host.partition("-")
    machine = machine.replace("-", "_").replace(".", "_")
    if system != "linux":
        return f"{system}_{machine}"
    return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"
