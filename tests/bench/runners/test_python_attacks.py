"""Code under test that wants to be reported as correct: whatever it does to its process, it is not a pass.

Each piece of code below is in the module that the test imports. Without it the test fails; with it the test must not
come out as passed. Attacks that a twin is needed for are elsewhere.
"""

from __future__ import annotations

import pytest

from python_bench import PythonBench, is_a_pass, outcomes

SANDBOXES = ["bubblewrap", "docker"]
BUG = "def add(a, b):\n    return a - b\n"
TEST = "from shop import add\n\ndef test_adds():\n    assert add(2, 3) == 5\n"
OLD_TEST = (
    "import unittest\nfrom shop import add\n\nclass Adds(unittest.TestCase):\n"
    "    def test_adds(self):\n        self.assertEqual(add(2, 3), 5)\n"
)
SHOP = frozenset({"shop.py"})
PYTEST, UNITTEST = "python3 -m pytest -q", "python3 -m unittest"

ENDING = {
    "sys.exit at import": "import sys; sys.exit(0)",
    "os._exit at import": "import os; os._exit(0)",
    "os._exit in the call": "import os\ndef add(a, b): os._exit(0)",
    "another program in its place": "import os\ndef add(a, b): os.execv('/bin/true', ['true'])",
    "killing itself": "import os\ndef add(a, b): os.kill(os.getpid(), 9)",
    "killing its supervisor": "import os\ndef add(a, b): os.kill(os.getppid(), 9)",
    "ending its supervisor": "import os\ndef add(a, b):\n    os.kill(os.getppid(), 15)\n    import time; time.sleep(60)",
    "leaving at exit": "import atexit, os; atexit.register(os._exit, 0)",
    "a thread that leaves": (
        "import os, threading, time\n"
        "def end():\n    time.sleep(0.05)\n    os._exit(0)\n"
        "threading.Thread(target=end, daemon=True).start()\n"
        "def add(a, b):\n    time.sleep(5)"
    ),
    "a silent signal handler": (
        "import os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n"
        "def add(a, b):\n    signal.setitimer(signal.ITIMER_REAL, 0.05)\n    signal.pause()"
    ),
    "pytest.exit": "import pytest; pytest.exit('all good', 0)",
    "a keyboard interrupt": "def add(a, b): raise KeyboardInterrupt",
    "closing every descriptor": "import os\ndef add(a, b):\n    os.closerange(3, 1024)\n    return 0",
    "a fork that goes on in its place": (
        "import os, time\ndef add(a, b):\n    if os.fork(): os._exit(0)\n    return 5"
    ),
    "forks without end": (
        "import os\ndef add(a, b):\n"
        "    while True:\n"
        "        try: os.fork()\n"
        "        except OSError: os._exit(0)"
    ),
}


@pytest.mark.parametrize("code", ENDING.values(), ids=ENDING)
@pytest.mark.parametrize(
    ("command", "test"), [(PYTEST, TEST), (UNITTEST, OLD_TEST)], ids=["pytest", "unittest"]
)
def test_a_process_that_ends_before_its_end_is_no_pass(
    python_bench: PythonBench, command: str, test: str, code: str
) -> None:
    ran = python_bench({"shop.py": f"{BUG}\n{code}\n", "test_x.py": test}, command)
    assert not is_a_pass(ran.reported), ran.reported


def test_it_is_said_that_the_end_was_never_reported(python_bench: PythonBench) -> None:
    reported = python_bench({"shop.py": "import os; os._exit(0)", "test_x.py": TEST}).reported
    assert "the test process ended (exit 0) before it reported its end" in reported.problems


SPEAKING = {
    "a summary on every descriptor": "os.write(fd, b'........ [100%]\\n8 passed in 0.02s\\n')",
    "a record without a plan": "os.write(fd, b'finish\\x000\\x00passed\\x00')",
    "a number that is none": "os.write(fd, b'start\\x00-1')",
    "a record too long": "os.write(fd, b'plan\\x00' + b'x' * 60000)",
    "an early end": "os.write(fd, b'end\\x000')",
    "the tree as its own runner": "os.write(fd, b'own\\x00shop'); os._exit(0)",
    "a runner that is absent": "os.write(fd, b'absent\\x00pytest'); os.write(fd, b'end\\x0069'); os._exit(69)",
    "no words": "os.write(fd, b'\\x00\\x00\\x00')",
    "bytes that are no text": "os.write(fd, b'\\xff\\xfe\\x00\\xff')",
    "shutting it down": "import socket; socket.socket(fileno=os.dup(fd)).shutdown(2)",
}


@pytest.mark.parametrize("words", SPEAKING.values(), ids=SPEAKING)
def test_words_of_its_own_on_the_way_to_the_supervisor_are_no_pass(
    python_bench: PythonBench, words: str
) -> None:
    code = f"""
import os
def speak():
    for fd in map(int, os.listdir('/proc/self/fd')):
        try:
            if fd > 2 and 'socket' in os.readlink('/proc/self/fd/%d' % fd):
                {words}
        except OSError:
            pass
def add(a, b):
    speak()
    return 5
"""
    ran = python_bench({"shop.py": code, "test_x.py": TEST})
    assert not is_a_pass(ran.reported), ran.reported


@pytest.mark.parametrize("word", ["own", "absent"])
def test_code_under_test_cannot_choose_a_weaker_runner_or_blame_the_contract(
    python_bench: PythonBench, word: str
) -> None:
    code = f"""
import os
os.write(max(int(fd) for fd in os.listdir('/proc/self/fd')), b'{word}\\x00pytest')
os._exit(0)
"""
    ran = python_bench({"shop.py": code, "test_x.py": TEST})
    assert not ran.finished.not_started
    assert not ran.reported.own_runner
    assert ran.reported.tampering == (f"the code under test sent a record in the runner's name: {word}",)


def test_too_many_words_are_no_pass_and_no_hang(python_bench: PythonBench) -> None:
    code = """
import os
def add(a, b):
    fd = max(int(fd) for fd in os.listdir('/proc/self/fd'))
    while True:
        os.write(fd, b'problem\\x00' + b'x' * 16000)
"""
    ran = python_bench({"shop.py": code, "test_x.py": TEST})
    assert ran.reported.problems
    assert not ran.finished.timed_out


def test_a_child_process_cannot_speak_for_the_tests(python_bench: PythonBench) -> None:
    """Its words are dropped: the failure stands, and nothing else is reported."""
    code = """
import os, subprocess, sys
def add(a, b):
    fd = max(int(fd) for fd in os.listdir('/proc/self/fd'))
    os.set_inheritable(fd, True)
    forged = 'import os; os.write(%d, bytes.fromhex("66696e69736800300070617373656400"))' % fd
    assert subprocess.run([sys.executable, '-c', forged], close_fds=False).returncode == 0
    return a - b
"""
    reported = python_bench({"shop.py": code, "test_x.py": TEST}).reported
    assert outcomes(reported) == {"test_adds": "failed"}
    assert not reported.problems


def test_a_process_left_behind_with_the_socket_holds_nothing_up(python_bench: PythonBench) -> None:
    code = "import os, time\nif not os.fork():\n    time.sleep(600)\n" + BUG.replace("-", "+")
    reported = python_bench({"shop.py": code, "test_x.py": TEST}, timeout_s=300.0).reported
    assert is_a_pass(reported)


SNOOPING = """
import os
found = []
for name in ('mem', 'environ', 'fd/0', 'fd/1', 'maps'):
    try:
        path = '/proc/%d/%s' % (os.getppid(), name)
        found.append((name, os.open(path, os.O_RDONLY)))
    except OSError:
        pass
def add(a, b):
    assert not found, found
    import ctypes
    assert ctypes.CDLL(None).ptrace(16, os.getppid(), None, None) == -1
    return a + b
"""


def test_the_supervisor_cannot_be_read(python_bench: PythonBench) -> None:
    ran = python_bench({"shop.py": SNOOPING, "test_x.py": TEST})
    assert is_a_pass(ran.reported), ran.reported


def test_no_memory_of_the_tests_has_the_nonce_in_it(python_bench: PythonBench) -> None:
    """Standard input is empty, and no variable or argument holds a long hexadecimal word."""
    code = BUG.replace("-", "+") + (
        "import os, re\nassert open('/proc/self/cmdline').read().count('nonce') == 0\n"
        "assert not re.search(r'[0-9a-f]{32}', str(dict(os.environ)))\nassert os.read(0, 10) == b''\n"
    )
    assert is_a_pass(python_bench({"shop.py": code, "test_x.py": TEST}).reported)


TAMPERING = {
    "no test is run": (
        "import _pytest.python as p\np.Function.runtest = lambda self: None",
        "Function.runtest",
    ),
    "a standard function for the runner's": (
        "import copy, _pytest.python as p\np.Function.runtest = copy.copy",
        "",
    ),
    "reports that pass": (
        (
            "from _pytest.reports import TestReport as T\nold = T.from_item_and_call.__func__\n"
            "def new(cls, item, call):\n    r = old(cls, item, call); r.outcome = 'passed'; return r\n"
            "T.from_item_and_call = classmethod(new)"
        ),
        "",
    ),
    "calls that raise nothing": (
        (
            "import _pytest.runner as r\nold = r.CallInfo.from_call.__func__\n"
            "def new(cls, func, when, reraise=None): return old(cls, lambda: None, when, reraise)\n"
            "r.CallInfo.from_call = classmethod(new)"
        ),
        "",
    ),
    "no exception in a multicall": (
        "import pluggy._callers as c, pluggy._manager as m\nm.PluginManager._hookexec = lambda *a, **k: []",
        "",
    ),
    "a hook in front": (
        (
            "import gc, pytest\nfrom _pytest.config import PytestPluginManager\n"
            "class Mine:\n    @pytest.hookimpl(tryfirst=True)\n    def pytest_pyfunc_call(self, pyfuncitem): return True\n"
            "next(o for o in gc.get_objects() if type(o) is PytestPluginManager).register(Mine())"
        ),
        "a hook of the runner was added by shop.py",
    ),
    "the manager's own way to call": (
        (
            "import gc\nfrom _pytest.config import PytestPluginManager\n"
            "m = next(o for o in gc.get_objects() if type(o) is PytestPluginManager)\nold = m._inner_hookexec\n"
            "def new(name, impls, kwargs, first):\n"
            "    return None if name == 'pytest_pyfunc_call' else old(name, impls, kwargs, first)\n"
            "m._inner_hookexec = new"
        ),
        "pluginmanager._inner_hookexec",
    ),
    "a name that hides an inherited one": (
        (
            "import _pytest.python as p\np.Function.listchain = lambda self: []\n"
            "p.Function.obj = property(lambda self: lambda **k: None, lambda self, value: None)"
        ),
        "",
    ),
    "itself as a plugin": (
        (
            "import gc, sys, pytest\nfrom _pytest.config import PytestPluginManager\n"
            "@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n"
            "m = next(o for o in gc.get_objects() if type(o) is PytestPluginManager)\n"
            "m.register(sys.modules[__name__], 'shop')"
        ),
        "a hook of the runner was added by shop.py",
    ),
    "a hook that replaces another": (
        (
            "import gc\nfor o in gc.get_objects():\n"
            "    if type(o).__name__ == 'HookImpl' and o.function.__name__ == 'pytest_pyfunc_call':\n"
            "        o.function = lambda pyfuncitem: True"
        ),
        "hook",
    ),
    "equality of everything": ("import operator\noperator.eq = lambda a, b: True", "operator.eq"),
    "a builtin": ("import builtins\nbuiltins.all = lambda *a: True", "builtins.all"),
    "a clock": ("import time\ntime.time = lambda: 0.0", "time.time"),
    "code of tests found by the collector": (
        (
            "import gc, sys\n"
            "def swap():\n"
            "    for o in gc.get_objects():\n"
            "        if type(o).__name__ == 'function' and o.__name__.startswith('test_') and o.__module__ == 'test_x':\n"
            "            o.__code__ = (lambda: None).__code__\n"
            "def prof(frame, ev, arg):\n"
            "    if frame.f_code.co_name == 'runtestprotocol':\n        sys.setprofile(None); swap()\n"
            "sys.setprofile(prof)"
        ),
        "the code of test_x.py::test_adds was replaced",
    ),
    "an item's own method": (
        (
            "import gc, sys, _pytest.python as p\n"
            "def prof(frame, ev, arg):\n"
            "    if frame.f_code.co_name == 'runtestprotocol':\n"
            "        sys.setprofile(None); frame.f_locals['item'].runtest = lambda: None\n"
            "sys.setprofile(prof)"
        ),
        "the method that runs test_x.py::test_adds was replaced",
    ),
    "the test on the disk": (
        (
            "import os\npath = os.path.join(os.path.dirname(__file__), 'test_x.py')\n"
            "text = open(path).read()\nopen(path, 'w').write(text)"
        ),
        "`test_x.py` was changed while the tests ran",
    ),
    "a driver of ours": (
        (
            "import gc\nfor o in gc.get_objects():\n"
            "    if type(o) is type and o.__name__ == 'CaseOutcome':\n        o.verdict = lambda self: ('passed', '')"
        ),
        "CaseOutcome.verdict",
    ),
    "a conftest that is none": (
        (
            "import _pytest.python as p\nspace = {}\n"
            "exec(compile('def runtest(self): pass', '/workspace/conftest.py', 'exec'), space)\n"
            "p.Function.runtest = space['runtest']"
        ),
        "Function.runtest",
    ),
    "a hook that no file has": (
        (
            "import gc, pytest\nfrom _pytest.config import PytestPluginManager\nspace = {'pytest': pytest}\n"
            "text = 'class Mine:\\n @pytest.hookimpl(tryfirst=True)\\n def pytest_pyfunc_call(self): return True'\n"
            "exec(compile(text, '<x>', 'exec'), space)\n"
            "next(o for o in gc.get_objects() if type(o) is PytestPluginManager).register(space['Mine']())"
        ),
        "a hook of the runner was added by code from no file",
    ),
    "a hook in the name of the runner's own file": (
        (
            "import gc, pytest, _pytest.capture as c\nfrom _pytest.config import PytestPluginManager\n"
            "space = {'pytest': pytest}\n"
            "text = 'class Mine:\\n @pytest.hookimpl(tryfirst=True)\\n def pytest_pyfunc_call(self): return True'\n"
            "exec(compile(text, c.__file__, 'exec'), space)\n"
            "next(o for o in gc.get_objects() if type(o) is PytestPluginManager).register(space['Mine']())"
        ),
        "a hook of the runner was added by code from no file",
    ),
    "a module written at run time": (
        (
            "import sys, os\nwith open('/tmp/late.py', 'w') as f: f.write('def time(): return 0\\n')\n"
            "sys.path.append('/tmp')\nimport late, time\ntime.time = late.time"
        ),
        "time.time",
    ),
    "pytest.raises": ("import pytest\npytest.raises = None", "pytest.raises"),
    "a tracer left on": ("import sys\nsys.settrace(lambda *a: None)", "sys.settrace was left on by"),
}


@pytest.mark.parametrize(("code", "result"), TAMPERING.values(), ids=TAMPERING)
def test_hands_on_the_runner_are_seen(python_bench: PythonBench, code: str, result: str) -> None:
    everything = "import gc\ngc.unfreeze()"  # else the garbage collector shows nothing of the runner
    ran = python_bench({"shop.py": f"{BUG}\n{everything}\n{code}\n", "test_x.py": TEST}, changed=SHOP)
    assert not is_a_pass(ran.reported)
    assert any(result in one for one in (*ran.reported.tampering, *ran.reported.problems)), ran.reported


OLD_TAMPERING = {
    "assertions that hold": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None",
    "no test is run": "import unittest\nunittest.TestCase.run = lambda self, result: result.addSuccess(self)",
    "failures that are none": (
        "import unittest\nunittest.TestResult.wasSuccessful = lambda s: True\n"
        "import unittest.case as c\nc._Outcome.testPartExecutor = __import__('contextlib').nullcontext"
    ),
    "a result that forgets": (
        "import gc\nfor o in gc.get_objects():\n    if type(o) is type and o.__name__ == 'Watched':\n"
        "        o.addFailure = o.addSuccess"
    ),
}


@pytest.mark.parametrize("code", OLD_TAMPERING.values(), ids=OLD_TAMPERING)
def test_hands_on_unittest_are_seen(python_bench: PythonBench, code: str) -> None:
    everything = "import gc\ngc.unfreeze()"
    files = {"shop.py": f"{BUG}\n{everything}\n{code}\n", "test_x.py": OLD_TEST}
    ran = python_bench(files, UNITTEST, changed=SHOP)
    assert not is_a_pass(ran.reported), ran.reported


SKIPPING = {
    "pytest.skip": "import pytest\ndef add(a, b): pytest.skip('not here')",
    "pytest.xfail": "import pytest\ndef add(a, b): pytest.xfail('known')",
    "unittest.SkipTest": "import unittest\ndef add(a, b): raise unittest.SkipTest('not here')",
    "code of another name": (
        "import unittest\nexec(compile('def add(a, b): raise unittest.SkipTest(1)', '<calendar>', 'exec'))"
    ),
    "code in the name of a test": (
        "import unittest\nexec(compile('def add(a, b): raise unittest.SkipTest(1)', '/workspace/test_y.py', 'exec'))"
    ),
    "code without a frame": (
        "import functools, unittest\nadd = functools.partial(unittest.TestCase.skipTest, unittest.TestCase())"
    ),
    "its whole module": "import pytest\npytest.skip('not here', allow_module_level=True)",
    "its whole module, the old way": "import unittest\nraise unittest.SkipTest('not here')",
}


@pytest.mark.parametrize("code", SKIPPING.values(), ids=SKIPPING)
@pytest.mark.parametrize(
    ("command", "test"), [(PYTEST, TEST), (UNITTEST, OLD_TEST)], ids=["pytest", "unittest"]
)
def test_changed_code_cannot_skip_its_tests(
    python_bench: PythonBench, command: str, test: str, code: str
) -> None:
    other = "import unittest\nclass Other(unittest.TestCase):\n    def test_other(self): pass\n"
    files = {"shop.py": f"{BUG}\n{code}\n", "test_x.py": test, "test_y.py": other}
    ran = python_bench(files, command, changed=frozenset({"shop.py"}))
    assert outcomes(ran.reported)["test_other"] != "failed"
    assert not is_a_pass(ran.reported), ran.reported


BESIDE = {
    "a standard module": {
        "argparse.py": "import atexit, os; atexit.register(os._exit, 0)\nraise SystemExit(0)\n"
    },
    "a part of the installed test runner": {
        "pytest/__init__.py": "raise SystemExit(0)\n",
        "pluggy.py": "raise SystemExit(0)\n",
        "_pytest.py": "raise SystemExit(0)\n",
        "pygments.py": "raise SystemExit(0)\n",
        "unittest.py": "raise SystemExit(0)\n",
        "json.py": "raise SystemExit(0)\n",
    },
    "a site": {
        "sitecustomize.py": "import os; os._exit(0)\n",
        "usercustomize.py": "import os; os._exit(0)\n",
        "encodings/__init__.py": "raise SystemExit(0)\n",
    },
    "an installed plugin": {
        "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
        "evil.py": "import _pytest.python as p\np.Function.runtest = lambda self: None\n",
    },
}


@pytest.mark.parametrize("command", [PYTEST, f"PYTHONPATH=. {PYTEST}"])
@pytest.mark.parametrize("files", BESIDE.values(), ids=BESIDE)
def test_modules_beside_the_tests_do_not_become_the_runner(
    python_bench: PythonBench, files: dict[str, str], command: str
) -> None:
    """Neither does an honest fix in such a tree fail because of them."""
    broken = python_bench({**files, "shop.py": BUG, "test_x.py": TEST}, command)
    assert outcomes(broken.reported) == {"test_adds": "failed"}, broken
    fixed = python_bench({"shop.py": BUG.replace("-", "+")}, command)
    assert is_a_pass(fixed.reported), fixed


def test_settings_of_the_change_do_not_choose_the_tests(python_bench: PythonBench) -> None:
    narrowed = '[tool.pytest.ini_options]\npython_functions = ["smoke_*"]\naddopts = "test_smoke.py"\n'
    files = {
        "pyproject.toml": narrowed,
        "test_smoke.py": "def smoke_ok(): pass\n",
        "shop.py": BUG,
        "test_x.py": TEST,
    }
    fooled = python_bench(files)
    assert is_a_pass(fooled.reported)
    files["shop.py"] = (
        "assert 'smoke' in open('pyproject.toml').read()\n" + BUG
    )  # its own files are as it made them
    for old in ("[project]\nname = 'shop'\n", ""):
        kept = python_bench(files, settings={"pyproject.toml": old})
        assert outcomes(kept.reported) == {"test_adds": "failed"}


def test_an_interpreter_of_the_change_is_not_started(python_bench: PythonBench) -> None:
    ran = python_bench(
        {"test_x.py": TEST}, ".venv/bin/python -m pytest", theirs=frozenset({".venv/bin/python"})
    )
    assert ran.reported.problems == ("`.venv/bin/python` comes from the change",)
    assert not ran.finished.not_started


@pytest.mark.parametrize("code", [ENDING["os._exit in the call"], ENDING["sys.exit at import"]])
def test_in_a_process_each_an_early_end_is_no_pass(python_bench: PythonBench, code: str) -> None:
    ran = python_bench({"shop.py": f"{BUG}\n{code}\n", "test_x.py": TEST}, isolation="process")
    assert not is_a_pass(ran.reported)
    assert ran.reported.problems


def test_a_test_that_is_there_only_when_tests_are_counted_is_no_pass(python_bench: PythonBench) -> None:
    """The collecting process sees another suite than those that run."""
    test = "import os, pathlib\nmark = pathlib.Path('seen')\nif not mark.exists():\n    mark.touch()\n"
    test += "    def test_hard(): assert False\nelse:\n    def test_easy(): pass\n"
    ran = python_bench({"test_x.py": test}, isolation="process")
    assert not is_a_pass(ran.reported), ran.reported


def test_code_that_never_ends_is_stopped_by_the_clock(python_bench: PythonBench) -> None:
    code = "import signal\ndef add(a, b):\n    signal.signal(15, signal.SIG_IGN)\n    while True: pass\n"
    ran = python_bench({"shop.py": code, "test_x.py": TEST}, timeout_s=3.0)
    assert ran.finished.timed_out
    assert not is_a_pass(ran.reported)


HONEST = {
    "a test gives an old name to a method": (
        UNITTEST,
        {
            "test_x.py": OLD_TEST
            + "\nunittest.TestCase.assertItemsEqual = unittest.TestCase.assertCountEqual\n"
        },
    ),
    "a module that the change left alone prints in its own way": (
        PYTEST,
        {
            "log.py": "import builtins\nreal = print\ndef stamped(*a): real('x', *a)\nbuiltins.print = stamped\n",
            "test_x.py": "import log\n" + TEST,
        },
    ),
    "a partial of print": (
        PYTEST,
        {
            "log.py": "import builtins, functools\nbuiltins.print = functools.partial(print, flush=True)\n",
            "test_x.py": "import log\n" + TEST,
        },
    ),
    "a test has a clock of its own": (
        PYTEST,
        {
            "test_x.py": "import time\n" + TEST + "\nclass Clock:\n    def __call__(self): return 100.0\n"
            "time.time = Clock()\ndef test_clock(): assert time.time() == 100.0\n"
        },
    ),
    "tests that skip themselves": (
        PYTEST,
        {
            "helps.py": "import pytest\ndef network():\n    pytest.skip('none')\n",
            "test_x.py": "import pytest, unittest, helps\n"
            + TEST
            + "\ndef test_a():\n    assert 1\n    pytest.skip('a')\n"
            "def test_b(): helps.network()\ndef test_c(): pytest.importorskip('nowhere')\n"
            "@pytest.fixture\ndef one(): pytest.skip('d')\ndef test_d(one): pass\n"
            "class TestOld(unittest.TestCase):\n"
            "    def test_e(self): self.skipTest('e')\n    def test_f(self): raise unittest.SkipTest\n"
            "@unittest.skip('g')\ndef test_g(): pass\n@pytest.mark.skip\ndef test_h(): pass\n",
            "test_y.py": "import pytest\npytest.importorskip('nowhere')\n",
        },
    ),
    "the same with unittest": (
        UNITTEST,
        {
            "test_x.py": OLD_TEST + "\n    def test_e(self): self.skipTest('e')\n"
            "    @unittest.skip('f')\n    def test_f(self): pass\n"
            "class Not(unittest.TestCase):\n"
            "    @classmethod\n    def setUpClass(cls): raise unittest.SkipTest('none')\n    def test_g(self): pass\n",
            "test_y.py": "import unittest\nraise unittest.SkipTest('not here')\n",
        },
    ),
    "doctests that a module of tests loads": (
        UNITTEST,
        {
            "test_x.py": OLD_TEST + "\nimport doctest, shop\ndef load_tests(loader, tests, ignore):\n"
            "    tests.addTests(doctest.DocTestSuite(shop))\n    return tests\n",
        },
    ),
}


@pytest.mark.parametrize(("command", "files"), HONEST.values(), ids=HONEST)
def test_what_the_author_does_is_no_trick(
    python_bench: PythonBench, command: str, files: dict[str, str]
) -> None:
    shop = 'def add(a, b):\n    """Sum.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'
    ran = python_bench({"shop.py": shop, **files}, command, changed=SHOP)
    assert is_a_pass(ran.reported), ran


LYING = """
import sys
frame = sys._getframe()
while frame and frame.f_globals.get("__name__") != "test_x":
    frame = frame.f_back
frame.f_globals.update(%s)
def add(a, b): return 5
"""


@pytest.mark.parametrize("lie", ["__file__=''", "__file__='/tmp/x.py'", "__name__='shop'", "__spec__=None"])
def test_a_module_of_unittest_cannot_be_made_to_lie_about_its_file(
    python_bench: PythonBench, lie: str
) -> None:
    code = LYING % lie
    files = {"shop.py": code, "test_x.py": OLD_TEST}
    reported = python_bench(files, f"{UNITTEST} test_x", changed=SHOP).reported
    assert [one.file for one in reported.results] == ["test_x.py"]


def test_a_name_that_unittest_cannot_load_is_said(python_bench: PythonBench) -> None:
    ran = python_bench({"shop.py": "number = 7\n"}, "python3 -m unittest shop.number")
    assert any("don't know how to make test from: 7" in one for one in ran.reported.problems), ran
    assert "Traceback" in ran.finished.stderr.text
