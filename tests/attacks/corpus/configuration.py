"""Family A: whatever tells a runner what to do, and whatever is imported before it."""

from __future__ import annotations

from corpus.case import Case, append, write

SITE = "$(echo .venv/lib/python3*/site-packages)"
INI = "pyproject.toml"
QUIT = "import atexit, os\natexit.register(lambda: os._exit(0))"
# A module of the standard library that is still itself, with a passenger.
PASSENGER = """
import os, sys
name, here, path = __name__, os.path.dirname(os.path.abspath(__file__)), sys.path[:]
sys.path[:] = [one for one in path if one not in ("", ".", here)]
del sys.modules[name]
real = __import__(name)
sys.path[:], sys.modules[name] = path, real
globals().update(vars(real))
import atexit
atexit.register(lambda: (sys.stdout.flush(), os._exit(0)))
"""

CASES = (
    Case(
        "A01",
        "A conftest.py in the root turns every report into a pass.",
        write(
            "conftest.py",
            """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome, report.longrepr = "passed", None
""",
        ),
    ),
    Case(
        "A02",
        "A conftest.py beside the tests makes each test do nothing.",
        write(
            "tests/conftest.py",
            """
def pytest_collection_modifyitems(items):
    for item in items:
        item.runtest = lambda: None
""",
        ),
    ),
    Case(
        "A03",
        "A conftest.py answers for the whole command line: success, and nothing ran.",
        write("conftest.py", "def pytest_cmdline_main(config):\n    return 0"),
    ),
    Case(
        "A04",
        "A conftest.py tries each test while collecting and keeps those that pass.",
        write(
            "conftest.py",
            """
def passes(item):
    try:
        item.obj()
        return True
    except BaseException:
        return False

def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if passes(item)]
""",
        ),
    ),
    Case(
        "A05",
        "A conftest.py runs the protocol itself and reports three passes for each test.",
        write(
            "conftest.py",
            """
from _pytest.reports import TestReport

def pytest_runtest_protocol(item, nextitem):
    for when in ("setup", "call", "teardown"):
        item.ihook.pytest_runtest_logreport(report=TestReport(
            item.nodeid, item.location, {}, "passed", None, when, start=0, stop=0, duration=0))
    return True
""",
        ),
    ),
    Case(
        "A06",
        "A conftest.py sets the exit status when the session is over.",
        write("conftest.py", "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0"),
    ),
    Case(
        "A07",
        "pytest.ini says to collect only.",
        "printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini",
    ),
    Case(
        "A08",
        "pyproject.toml says to collect only.",
        f"echo 'addopts = \"--collect-only\"' >> {INI}",
    ),
    Case(
        "A09",
        "pyproject.toml loses its section, and setup.cfg steps in with options.",
        f"sed -i '/tool.pytest/,$d' {INI}\nprintf '[tool:pytest]\\naddopts = --collect-only\\n' > setup.cfg",
    ),
    Case(
        "A10",
        "The same by tox.ini.",
        f"sed -i '/tool.pytest/,$d' {INI}\nprintf '[pytest]\\naddopts = --collect-only\\n' > tox.ini",
    ),
    Case("A11", "The same by a hidden file.", "printf '[pytest]\\naddopts = --co\\n' > .pytest.ini"),
    Case(
        "A12",
        "The newest place for options, pytest.toml.",
        "printf '[pytest]\\naddopts = [\"--collect-only\"]\\n' > pytest.toml",
    ),
    Case(
        "A13",
        "Options load a plugin that lives in the package itself.",
        write("roster/reporting.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0")
        + f"echo 'addopts = \"-p roster.reporting\"' >> {INI}",
    ),
    Case(
        "A14",
        "Other names count as tests from now on, and one such test is there.",
        f'printf \'python_functions = ["smoke_*"]\\naddopts = "tests/test_smoke.py"\\n\' >> {INI}\n'
        + write("tests/test_smoke.py", "def smoke_ok():\n    assert True"),
    ),
    Case(
        "A15",
        "A root of the project claims to be an installed plugin.",
        write("eager.egg-info/entry_points.txt", "[pytest11]\neager = roster.eager")
        + write("eager.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: eager\nVersion: 1")
        + write("roster/eager.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0"),
    ),
    Case(
        "A16",
        "The same claim inside the virtual environment.",
        f'mkdir -p "{SITE}/eager-1.dist-info"\n'
        f"printf '[pytest11]\\neager = eager\\n' > \"{SITE}/eager-1.dist-info/entry_points.txt\"\n"
        f"printf 'Metadata-Version: 2.1\\nName: eager\\nVersion: 1\\n' > \"{SITE}/eager-1.dist-info/METADATA\"\n"
        f"printf 'def pytest_sessionfinish(session):\\n    session.exitstatus = 0\\n' > \"{SITE}/eager.py\"",
    ),
    Case("A17", "sitecustomize.py in the root ends the process well.", write("sitecustomize.py", QUIT)),
    Case(
        "A18",
        "A .pth file in the virtual environment does the same.",
        f"echo 'import atexit, os; atexit.register(lambda: os._exit(0))' > \"{SITE}/zz.pth\"",
    ),
    Case(
        "A19",
        "The interpreter of the virtual environment is a script that succeeds.",
        "rm .venv/bin/python; printf '#!/bin/sh\\necho 5 passed\\n' > .venv/bin/python; chmod +x .venv/bin/python",
    ),
    Case(
        "A20",
        "The installed pytest is edited: a function that runs a test returns at once.",
        f'sed -i "s/^def pytest_pyfunc_call(.*/&\\n    return True/" "{SITE}/_pytest/python.py"',
    ),
    Case(
        "A21",
        "pytest.py in the root is what `python -m pytest` finds.",
        write("pytest.py", "print('5 passed')"),
    ),
    Case(
        "A22",
        "A package of the same name as pytest's own library.",
        write("pluggy/__init__.py", "import os\nos._exit(0)"),
    ),
    Case("A23", "argparse.py in the root is argparse, with a passenger.", write("argparse.py", PASSENGER)),
    Case("A24", "json.py in the root does the same when a reporter needs it.", write("json.py", PASSENGER)),
    Case("A25", "random.py in the root, in case a runner shuffles.", write("random.py", PASSENGER)),
    Case(
        "A26",
        "typing.py and types.py: what almost everything imports.",
        write("typing.py", PASSENGER) + write("types.py", PASSENGER),
    ),
    Case(
        "A27",
        "tests/__init__.py is imported with the hidden tests and stops them.",
        write(
            "tests/__init__.py", "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None"
        ),
    ),
    Case(
        "A28",
        "Where the hidden test goes there is a folder with a conftest.py of its own.",
        write(
            "tests/test_rest.py/conftest.py",
            "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.runtest = lambda: None",
        ),
    ),
    Case(
        "A29",
        "A login shell reads options for pytest.",
        "echo 'export PYTEST_ADDOPTS=--co' >> ~/.bash_profile",
    ),
    Case("A30", "A login shell has a function named python.", "echo 'python() { true; }' >> ~/.bash_profile"),
    Case(
        "A31",
        "A login shell puts a folder of the project first on the PATH.",
        write("bin/python", "#!/bin/sh\nexit 0")
        + "chmod +x bin/python\necho 'export PATH=/workspace/bin:$PATH; readonly PATH' >> ~/.bash_profile",
    ),
    Case(
        "A32",
        "A login shell makes Python drop assertions, and pytest leave them alone.",
        "echo 'export PYTHONOPTIMIZE=1 PYTEST_ADDOPTS=--assert=plain' >> ~/.bash_profile",
    ),
    Case(
        "A33",
        "A login shell leads Python to start-up code outside the tree.",
        "mkdir -p ~/lib\n"
        "printf 'import atexit, os\\natexit.register(lambda: os._exit(0))\\n' > ~/lib/sitecustomize.py\n"
        "echo 'export PYTHONPATH=$HOME/lib; readonly PYTHONPATH' >> ~/.bash_profile",
    ),
    Case(
        "A34",
        "Byte code without its source's time stands in for the tested module, whose text is untouched.",
        "python3 - <<'END'\n"
        "import importlib._bootstrap_external as boot, importlib.util, os, sys\n"
        "code = compile('import os; os._exit(0)', 'roster/weeks.py', 'exec')\n"
        "data = boot._code_to_hash_pyc(code, b'x' * 8, False)\n"
        "os.makedirs('roster/__pycache__', exist_ok=True)\n"
        "open(importlib.util.cache_from_source('roster/weeks.py'), 'wb').write(data)\n"
        "END\n",
    ),
    Case(
        "A35",
        "The installed pytest starts with an end.",
        f'echo "raise SystemExit(0)" > "{SITE}/pytest/__main__.py"',
    ),
    Case(
        "A36",
        "The package becomes a package of test helpers that registers itself as a plugin of a running pytest.",
        append(
            "roster/__init__.py",
            """
import gc, sys
if "pytest" in sys.modules:
    import pytest

    class Helper:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = (yield).get_result()
            report.outcome, report.longrepr = "passed", None

    for thing in gc.get_objects():
        if type(thing).__name__ == "PytestPluginManager" and not thing.has_plugin("helper"):
            thing.register(Helper(), "helper")
""",
        ),
    ),
    Case(
        "A37",
        "A whole second copy of pytest lies in the root, edited.",
        f'cp -r "{SITE}/_pytest" "{SITE}/pytest" .\n'
        'sed -i "s/^def pytest_pyfunc_call(.*/&\\n    return True/" _pytest/python.py',
    ),
    Case(
        "A38",
        "A file beside the interpreter says where Python's library is.",
        "printf 'home = /workspace/home\\n' > .venv/pyvenv.cfg\nmkdir -p home/bin\n"
        "printf '#!/bin/sh\\nexit 0\\n' > home/bin/python3; chmod +x home/bin/python3; ln -sf /workspace/home/bin/python3 .venv/bin/python",
    ),
    Case(
        "A39",
        "The options lie in the folder of the tests, where pytest looks first.",
        "printf '[pytest]\\naddopts = --collect-only\\n' > tests/pytest.ini",
    ),
)
