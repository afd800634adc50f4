"""Modules of the command line run when one of their names is first used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PREPARE = """
import sys, types
import steelyard
from steelyard.deferred import modules
steelyard.__path__.append(sys.argv[1])
modules.defer_modules()
"""


def run_python(folder: Path, code: str) -> str:
    (folder / "slow.py").write_text(
        "import time\nprint('runs', flush=True)\nEARLY = 1\ntime.sleep(0.2)\nLATE = 2\n"
    )
    (folder / "broken.py").write_text("import no_such_module_here\n")
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + code, str(folder)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_an_imported_module_runs_at_the_first_use_of_a_name(tmp_path: Path) -> None:
    assert (
        run_python(tmp_path, "from steelyard import slow\nprint('imported')\nprint(slow.LATE)")
        == "imported\nruns\n2\n"
    )


def test_a_module_whose_name_is_imported_runs_at_once(tmp_path: Path) -> None:
    assert run_python(tmp_path, "from steelyard.slow import LATE\nprint('imported')") == "runs\nimported\n"


def test_a_module_runs_once_and_threads_wait_until_it_ran(tmp_path: Path) -> None:
    """Both names are asked for while the module runs."""
    code = """
from concurrent.futures import ThreadPoolExecutor
from steelyard import slow
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda _: slow.EARLY + slow.LATE, range(8))), type(slow) is types.ModuleType)
"""
    assert run_python(tmp_path, code) == "runs\n24 True\n"


def test_a_module_that_fails_says_so_at_each_use(tmp_path: Path) -> None:
    code = """
from steelyard import broken
for _ in range(2):
    try:
        broken.name
    except ModuleNotFoundError as error:
        print(error.name)
"""
    assert run_python(tmp_path, code) == "no_such_module_here\nno_such_module_here\n"


def test_other_programs_import_modules_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "eager.py").write_text("print('runs')\n")
    code = "import sys, steelyard\nsteelyard.__path__.append(sys.argv[1])\nfrom steelyard import eager\nprint('imported')"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "runs\nimported\n"


def test_a_library_compiles_its_regular_expressions_at_their_first_use() -> None:
    code = (
        "import sys\n"
        "from steelyard.deferred.modules import defer_modules\n"
        "defer_modules()\n"
        "import platform, re, yaml\n"
        "print(isinstance(yaml.reader.Reader.NON_PRINTABLE, re.Pattern))\n"
        "print(yaml.safe_load('{a: 2026-03-07, b: 0x10, c: yes, d: 1.5}'))\n"
        "print(platform.python_version() == sys.version.split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    read = "{'a': datetime.date(2026, 3, 7), 'b': 16, 'c': True, 'd': 1.5}"
    assert done.stdout == f"False\n{read}\nTrue\n"
