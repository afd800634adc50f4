"""Runs inside the sandbox, in the tests' process: pytest, with a plugin that sees each test end.

A test passed when nothing was raised in its setup, its call and its teardown, as seen by wrappers around the hooks,
and no report of it says otherwise: reports are written by code that the tests can reach.
"""

import contextlib
import gc
import os
import sys
import unittest

import pytest
from _pytest import assertion
from _pytest import unittest as cases

ORDER = ("passed", "skipped", "failed", "error")
PHASES = ("setup", "call", "teardown")
# Failures that are shown with the code around them, the first in any case: pytest parses the file of the test for each.
MAX_TRACEBACKS = 10
MAX_PARSED_BYTES = 1 << 16
# New objects between two looks of the garbage collector while tests are collected: rewriting assertions makes many and no garbage.
COLLECTING_THRESHOLD = 100000
CRITICAL = (
    *("pytest_runtest_protocol", "pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown"),
    *(
        "pytest_runtest_makereport",
        "pytest_pyfunc_call",
        "pytest_runtestloop",
        "pytest_collection_modifyitems",
    ),
)

RUNNING = (
    "runtest",
    "setup",
    "teardown",
    "ihook",
    "obj",
    "function",
    "_getobj",
    "repr_failure",
    "iter_markers",
)


def run_tests(config, say, origins):
    kept = KeptSettings(config)
    early = EarlyPlugins(config)
    sys.meta_path.append(early)
    give(Watcher, say=say)
    watcher = Watcher(config, early, kept, origins)
    watcher.gate.close()
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")] + config["arguments"]
    code = int(pytest.main(list(config["arguments"]), plugins=[watcher]))
    watcher.look_again(True)
    return code


class Watcher:
    def __init__(self, config, early, kept, origins):
        self.origins = origins
        self.settings = config
        self.early = early
        self.kept = kept
        self.root = config["root"]
        self.items = []  # kept alive, so that no id is used twice
        self.broken = []  # (id, file)
        self.numbers = {}
        self.codes = {}
        self.shapes = {}
        self.modules = {}  # id -> (parent of tests, module); kept alive, so that no id is used twice
        self.now = None
        self.tracebacks = 0
        self.parsed_bytes = 0
        self.tripwire = None
        self.names = None
        self.manager = None
        self.hooks = []
        self.functions = []
        self.failures = 0
        self.gate = Gate(config["root"], self.before_the_tree)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config, say=None):
        """Plugins are loaded, nothing of the tree is."""
        self.gate.take_away()
        watch_successes(self)
        self.tripwire = Tripwire(globals(), self.origins)
        self.names = OracleNames(self.origins)
        self.remember_hooks(early_config.pluginmanager)
        self.tripwire.remember_reporter(
            self, ("now", "tracebacks", "parsed_bytes", "failures", "broken", "items", "functions")
        )
        self.tripwire.remember_reporter(self.origins, ("settings",))
        give(Watcher, look=Watcher.look_again)
        give(Watcher, intact=unchanged_parts(globals(), say))
        watch_functions(self.tripwire, self.names, say)
        hide_from_the_collector()
        self.origins.settings = early_config
        self.kept.put_back()
        sys.meta_path.remove(self.early)
        if self.gate.opened:
            for name in parts_of_the_runner(self.settings):
                say("problem", "the tree's `" + name + "` would replace a part of the installed test runner")
        else:
            self.origins.remember(code for _, _, _, code, _ in self.tripwire.runner)
            self.before_the_tree("")
        put_the_tree_on_the_path(self.settings)
        yield

    def before_the_tree(self, name, say=None):
        """The last moment at which the runner can say what the tree is to it: `name` of the tree is a plugin."""
        parts = parts_of_the_runner(self.settings)
        if parts:  # a plugin has loaded what the tree is to provide
            say("own", parts[0])
            _exit(0)
        if name.partition(".")[0] in self.settings["own_modules"]:
            say("part", name)
        say("ready")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config):
        """Every test, whatever became of the one before, and in this process: results of other processes are not used."""
        alone = (("numprocesses", None), ("dist", "no"), ("tx", []), ("forked", False))
        for name, value in (*alone, ("maxfail", 0), ("stepwise", False)):
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self):
        before = gc.get_threshold()
        gc.set_threshold(COLLECTING_THRESHOLD, *before[1:])
        yield
        if gc.get_threshold()[0] == COLLECTING_THRESHOLD:  # not set by a test file
            gc.set_threshold(*before)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session, say=None):
        yield
        only, among = self.settings["only"], self.settings["among"]
        if among:
            session.items[:] = [item for item in session.items if _without_row(item.nodeid) in among]
        if isinstance(only, list):
            same = [item for item in session.items if item.nodeid == only[0]]
            session.items[:] = same[only[1] : only[1] + 1]
        self.items = list(session.items)
        for name, file in self.broken:
            say("plan", name, file)
        for number, item in enumerate(self.items, len(self.broken)):
            self.numbers[id(item)] = number
            self.codes[id(item)] = code_of(getattr(item, "obj", None))
            self.shapes[id(item)] = _shape(item)
            say("plan", item.nodeid, self.file(item))
        say("planned")
        for number in range(len(self.broken)):
            say("start", number)
            say("finish", number, "error", "could not be collected")
        if only == "collect":
            session.items[:] = []
        self.watch_names()
        self.look_again(False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector, say=None):
        report = (yield).get_result()
        self.tampering(self.names.watch(vars(collector).get("_obj")))
        error = getattr(getattr(report, "call", None), "excinfo", None)
        by = self.origins.skipped_by(error and error.value) if report.skipped else ""
        if report.failed or by:
            name = report.nodeid or "collection"
            say("problem", "could not collect " + name + (": skipped by " + by if report.skipped else ""))
            self.broken.append((name, self.file(collector) if os.path.isfile(self.path(collector)) else ""))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, look=None, say=None):
        number = self.numbers.get(id(item))
        if number is None or self.now is not None:
            yield  # a test inside a test is its own affair
            return
        self.now = now = CaseOutcome(item.nodeid, number, self.origins)
        say("start", number)
        yield
        if self.now is not now or type(now) is not CaseOutcome:
            say("tampering", "the notes about " + item.nodeid + " were replaced")
        self.now = None
        if now.outcome == "passed" and isinstance(item, cases.TestCaseFunction) and not now.succeeded:
            now.worse("error", "unittest reported no success")
        look(self, False, self.module_of(item))
        outcome, detail = now.verdict()
        self.failures += outcome in ("failed", "error")
        say("finish", number, outcome, detail)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.phase(item, "setup", (yield))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item, say=None):
        code = self.codes.get(id(item))
        if code is not None and code_of(getattr(item, "obj", None)) is not code:
            say("tampering", "the code of " + item.nodeid + " was replaced")
        if _shape(item) != self.shapes.get(id(item), _shape(item)):
            say("tampering", "the method that runs " + item.nodeid + " was replaced")
        instance = getattr(getattr(item, "obj", None), "__self__", None)
        result = yield
        if instance is not None and not isinstance(instance, type):
            self.tampering("`" + name + "` was replaced" for name in self.names.hidden_methods(instance))
        self.phase(item, "call", result)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        self.phase(item, "teardown", (yield))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        raised = call.excinfo
        with self.bounded_traceback(item, raised):
            result = yield
        if self.now is not None and self.now.id == item.nodeid:
            report = result.get_result()
            self.now.raised(call.when, (call.excinfo or raised), report)
            if report.failed:
                self.now.worse("failed" if call.when == "call" else "error", _line(report))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report):
        """Parts of a test (subtests) have reports of their own."""
        if self.now is not None and self.now.id == report.nodeid and report.failed:
            self.now.worse("failed" if report.when == "call" else "error", _line(report))
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session, say=None):
        """The exit code is made of the session's own count."""
        count = session.testsfailed
        if type(count) is not int or (self.failures and not count):
            say("tampering", "the session's count of failures was replaced")
        yield

    @contextlib.contextmanager
    def bounded_traceback(self, item, raised):
        """Of the failures after the first few one line is shown: a thousand tracebacks would take a minute."""
        options = item.config.option
        style = getattr(options, "tbstyle", None)
        if raised is None or style not in ("auto", "long", "short"):
            yield
            return
        self.tracebacks += 1
        self.parsed_bytes += size_of(self.path(item))
        if self.tracebacks > (MAX_TRACEBACKS if self.parsed_bytes <= MAX_PARSED_BYTES else 1):
            options.tbstyle = "line"
            begin_at_test(raised, item)
        try:
            yield
        finally:
            options.tbstyle = style

    def phase(self, item, name, result, say=None):
        if self.now is not None and self.now.id == item.nodeid:
            if result.excinfo is not None:  # sent at once: what the supervisor knows cannot be taken back
                say("raised", self.now.number)
            self.now.add_phase(name, result.excinfo)

    def success(self, item, case, say=None):
        """A method of unittest's tests: nothing is handled any more, and nothing went wrong before."""
        if self.now is None or self.now.id != item.nodeid:
            return
        self.now.succeeded = True
        if sys.exc_info()[1] is not None or not getattr(getattr(case, "_outcome", None), "success", True):
            say("tampering", "a failure of " + item.nodeid + " was reported as a success")

    def path(self, item):
        return str(getattr(item, "path", None) or item.fspath)

    def file(self, item):
        path = self.path(item)
        return path[len(self.root) + 1 :] if is_within(path, self.root) else ""

    def watch_names(self):
        """Of the modules that judge: pytest has imported all of them."""
        for plugin in self.manager.get_plugins():
            if os.path.basename(getattr(plugin, "__file__", None) or "") == "conftest.py":
                self.tampering(self.names.watch(plugin, shared=True))
        for item in self.items:
            if id(item.parent) not in self.modules:
                self.modules[id(item.parent)] = item.parent, getattr(item, "module", None)
                self.tampering(self.names.watch(self.module_of(item)))
        self.tampering(self.names.watch_helpers())

    def module_of(self, item):
        """Found once for all tests of a module or class: pytest takes as long for that as for a small test."""
        return self.modules.get(id(item.parent), (None, None))[1]

    def tampering(self, texts, say=None):
        for text in texts:
            say("tampering", text)

    def look_again(self, everything, module=None, intact=None, say=None):
        if self.tripwire is None:
            return
        intact()
        look_again(self.tripwire, say, everything)
        for where in self.strange_hooks() if everything or self.hooks_changed() else ():
            say("tampering", "a hook of the runner was added by " + where)
        if everything or module is not None:
            self.tampering(self.names.differences(None if everything else module))

    def remember_hooks(self, manager):
        self.manager = manager
        held = vars(manager)
        entries = [
            (held, name, held[name], code_of(held[name]), "pluginmanager." + name)
            for name in ("_inner_hookexec", "hook")
            if name in held
        ]
        self.tripwire.cheap += entries
        self.tripwire.holders.append(Holder(held, entries, "", False))
        self.hooks = [(found, found.function) for found in self.critical_hooks()]

    def critical_hooks(self):
        callers = [getattr(self.manager.hook, name, None) for name in CRITICAL]
        return [found for hook in callers if hook is not None for found in hook.get_hookimpls()]

    def hooks_changed(self):
        """Since the last time: conftest files have added theirs by then."""
        functions = [found.function for found in self.critical_hooks()]
        before, self.functions = self.functions, functions
        return len(before) != len(functions) or any(map(_is_not, before, functions))

    def strange_hooks(self):
        """Where hooks that decide about tests were written, other than in plugins and conftest files."""
        named = self.named_plugins()
        for found, function in self.hooks:
            if found.function is not function:
                yield "something that replaced " + str(found.plugin_name)
        for found in self.critical_hooks():
            if any(found is one for one, _ in self.hooks):
                continue
            where = self.origins.file(code_of(found.function))
            if not where or (is_within(where, self.root) and not self.may_have_hooks(where, named)):
                yield where[len(self.root) + 1 :] or "code from no file"

    def may_have_hooks(self, where, named):
        return is_installed(where) or os.path.basename(where) == "conftest.py" or where in named

    def named_plugins(self):
        """Files of the plugins that were there before the tree, or that trusted code requests by name."""
        files = {getattr(code_of(function), "co_filename", "") for _, function in self.hooks}
        names = list(self.early.full_names)
        for plugin in self.manager.get_plugins():
            where = getattr(plugin, "__file__", None) or ""
            if os.path.basename(where) == "conftest.py" or not is_within(where, self.root):
                names += _requested_plugins(plugin)
        for name in names:  # grows: a plugin may ask for more
            module = sys.modules.get(name)
            if module is not None and getattr(module, "__file__", None) not in files:
                files.add(getattr(module, "__file__", None))
                names += _requested_plugins(module)
        return files


def _requested_plugins(plugin):
    names = getattr(plugin, "pytest_plugins", ())
    return [names] if isinstance(names, str) else list(names)


def watch_successes(watcher):
    """Only unittest reports its own success: a test whose exception was swallowed has not passed."""
    tell = cases.TestCaseFunction.addSuccess

    def addSuccess(self, testcase):
        watcher.success(self, testcase)
        return tell(self, testcase)

    cases.TestCaseFunction.addSuccess = addSuccess


class Gate:
    """Nothing of the tree is imported before `opening` was called with its name."""

    def __init__(self, root, opening):
        self.root, self.opening, self.opened = root, opening, False

    def close(self):
        """In front of every finder, also of the one that pytest is going to put there."""
        self.install = install = assertion.install_importhook

        def installed(config):
            hook = install(config)
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
            return hook

        sys.meta_path.insert(0, self)
        assertion.install_importhook = installed

    def take_away(self):
        sys.meta_path.remove(self)
        assertion.install_importhook = self.install

    def find_spec(self, name, path=None, target=None):
        spec = None if self.opened else _found(name, path, target, self)
        origin = getattr(spec, "origin", None) or ""
        if is_within(origin, self.root) and not is_installed(origin):
            self.opened = True
            self.opening(name)
        return spec


def _found(name, path, target, asking):
    for finder in sys.meta_path:
        spec = None
        if finder is not asking and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


class EarlyPlugins:
    """Plugins of the tree that the command or the settings name by `-p`: the rest of it is not yet on the path."""

    def __init__(self, config):
        self.path = entries_of_the_tree(config)
        words = list(config["arguments"]) + os.environ.get("PYTEST_ADDOPTS", "").split()
        for name in ("pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"):
            words += settings_text(config, name).replace('"', " ").replace("'", " ").replace(",", " ").split()
        named = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-p"]
        named += [word[2:] for word in words if word.startswith("-p") and len(word) > 2]
        named += os.environ.get("PYTEST_PLUGINS", "").split(",")
        self.full_names = [name for name in named if not name.startswith("no:")]
        self.names = {name.partition(".")[0] for name in self.full_names}

    def find_spec(self, name, path=None, target=None):
        if path is not None or name not in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self.path)


class KeptSettings:
    """The runner's settings as the snapshot has them, whatever the change made of the files that they are in.

    The files change places until pytest has read them, before any code of the tree runs: versions of pytest differ
    in what they read with, not in what they read.
    """

    def __init__(self, config):
        self.aside = []
        for name, text in config["settings"].items():
            path = os.path.join(config["root"], name)
            aside = path + "." + os.urandom(8).hex()
            os.rename(path, aside)
            self.aside.append((path, aside))
            if text:
                with open(path, "w", errors="surrogateescape") as file:
                    file.write(text)

    def put_back(self):
        while self.aside:
            path, aside = self.aside.pop()
            os.replace(aside, path)


def settings_text(config, name):
    if name in config["settings"]:
        return config["settings"][name]
    try:
        with open(os.path.join(config["root"], name), encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


class CaseOutcome:
    """What became of one test, the worst of it."""

    __slots__ = (
        "detail",
        "id",
        "number",
        "origins",
        "outcome",
        "pending",
        "seen",
        "succeeded",
    )  # nothing hides a method

    def __init__(self, nodeid, number, origins):
        self.id = nodeid
        self.number = number
        self.origins = origins
        self.pending = None
        self.seen = set()
        self.succeeded = False
        self.outcome = "passed"
        self.detail = ""

    def worse(self, outcome, detail):
        if ORDER.index(outcome) > ORDER.index(self.outcome):
            self.outcome, self.detail = outcome, detail

    def add_phase(self, phase, excinfo):
        self.seen.add(phase)
        self.pending = None if excinfo is None else excinfo[1]

    def raised(self, phase, excinfo, report):
        """One report for each phase; an expected failure is the report's to say, and at best a skip."""
        error, self.pending = self.pending, None
        if error is None and excinfo is not None:
            error = excinfo.value
        marked = hasattr(report, "wasxfail")
        if error is None:
            if marked:
                self.worse("skipped", "xpass" if report.passed else "xfail")
            return
        kind = type(error)  # not what it says of itself
        skip = issubclass(kind, (pytest.skip.Exception, unittest.SkipTest))
        called = skip or issubclass(kind, pytest.xfail.Exception)
        by = self.origins.skipped_by(error) if called else ""
        if by:
            self.worse("failed", "skipped by the code under test (" + by + "): " + text_of(error, ""))
        elif skip or (marked and report.skipped):
            self.worse("skipped", ("xfail: " if marked else "skip: ") + text_of(error, ""))
        else:
            self.worse("failed" if phase == "call" else "error", text_of(error))

    def verdict(self):
        if self.pending is not None:
            self.worse("error", text_of(self.pending))
        if self.outcome == "passed" and self.seen != set(PHASES):
            return "error", "not all of setup, call and teardown were seen"
        return self.outcome, self.detail


def begin_at_test(raised, item):
    """Leave out the frames of the runner, as pytest will: it looks for the file of each of them on the disk."""
    code, entry = code_of(getattr(item, "obj", None)), raised.tb
    while entry is not None and entry.tb_frame.f_code is not code:
        entry = entry.tb_next
    if entry is not None:
        raised.traceback = type(raised.traceback)(entry)


def size_of(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _without_row(name):
    file, found, test = name.partition("::")
    return file + found + test.partition("[")[0]


def _shape(item):
    """Its class, and which of the methods that run it the item hides behind its own."""
    return type(item), [name for name in RUNNING if name in vars(item)]


def _line(report):
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    return str(getattr(crash, "message", "") or "a report says so").splitlines()[0][:500]
