"""init.c -> src/steelyard/sandboxes/init/init, whenever the package is built or installed from source."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ("-Os", "-static", "-s", "-Wall", "-Wextra")
_FIX = "install a C compiler with a static libc: `apt-get install gcc libc6-dev`"


class InitBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        if self.target_name != "wheel":
            return  # a source distribution carries the source
        self._compile(Path(self.root, "src/steelyard/sandboxes/init"))
        # The binary is static: any Python 3 of this platform will do, but no other platform.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

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
