"""Runs inside the sandbox, in the tests' process: `python -m unittest`, with a result that sees each test end.

Or a program that runs unittest by itself, as Django's `runtests.py` does: the runner that it uses is replaced by
this one. Only code that is not of the change may start the tests or end the program: each frame on the way is examined.
"""

import ast
import os
import runpy
import sys
import unittest

_walk = ast.walk
EXITS = ("exit", "_exit", "systemexit", "quit")
ORDER = ("passed", "skipped", "failed", "error")


def run_tests(config, say, origins):
    program = config["program"]
    if program:
        say("part", program)
        unittest.TextTestRunner = unittest.runner.TextTestRunner = Watching
    watch_skipped_modules(origins, say)
    Watched.config, Watched.origins = config, origins
    Watched.state = State()
    Watched.stack = Stack(config, origins)
    Watched.names = names = OracleNames(origins)
    Watched.tripwire = tripwire = Tripwire(globals(), origins)
    Watched.modules = modules = Modules()
    for kind in (Watched, Watching):
        give(kind, say=say)
    give(Watched, look=Watched.look_again)
    intact = unchanged_parts(globals(), say)
    give(Watched, intact=intact)
    watch_functions(tripwire, names, say)
    hide_from_the_collector()
    say("ready")
    put_the_tree_on_the_path(config)
    sys.meta_path.insert(0, modules)
    code = run_program(config, say) if program else run_module(config, say)
    intact()
    look_again(tripwire, say, True)
    for text in names.differences():
        say("tampering", text)
    return code


def run_program(config, say):
    sys.argv[:] = [config["program"]] + config["arguments"]
    code = 0
    try:
        runpy.run_path(config["program"], run_name="__main__")
    except SystemExit as end:
        code = end.code & 255 if isinstance(end.code, int) else int(end.code is not None)
        by = Watched.stack.ended_by(end)
        if by:
            say("problem", "the program was ended by the change: " + by)
    if Watched.state.found is None:
        say("problem", "`" + config["program"] + "` ran no tests with unittest")
    return code


def run_module(config, say):
    sys.argv[:] = [os.path.join(os.path.dirname(unittest.__file__), "__main__.py")] + config["arguments"]
    name = os.path.basename(sys.executable) + " -m unittest"
    code, program = 2, None
    try:
        program = unittest.main(
            module=None, argv=[name] + config["arguments"], testRunner=Watching, exit=False
        )
        code = 0 if program.result.wasSuccessful() else 1
    except SystemExit as end:  # a wrong option
        code = end.code if isinstance(end.code, int) else 1
        say("problem", "unittest ended before any test ran")
    return code


class State:
    """The progress of the one suite whose results count."""

    __slots__ = ("codes", "found", "over")

    def __init__(self):
        self.codes, self.found, self.over = {}, None, False


class Watching(unittest.TextTestRunner):
    def run(self, test, say=None):
        state = Watched.state
        if state.found is not None:  # a test that runs tests
            if state.over:
                say("problem", "unittest ran a second suite; only one is supported")
            return super().run(test)
        by = Watched.stack.started_by(sys._getframe(1))
        if by:
            say("problem", "the tests were started by the change: " + by)
        self.resultclass = Watched
        self.failfast = False  # every test, whatever became of the one before
        found, config = list(_each(test)), Watched.config
        only = config["only"]
        if config["among"]:
            found = [one for one in found if one.id() in config["among"]]
            test = unittest.TestSuite(found)
        if isinstance(only, list):
            same = [one for one in found if one.id() == only[0]]
            found = same[only[1] : only[1] + 1]
            test = unittest.TestSuite(found)
        state.found = found
        for number, one in enumerate(found):
            state.codes[number] = code_of(getattr(one, getattr(one, "_testMethodName", ""), None))
            say("plan", one.id(), file_of(one, Watched.modules, Watched.origins), title_of(one))
        say("planned")
        for text in self.watched_names(found):
            say("tampering", text)
        if only == "collect":
            test = unittest.TestSuite()
        try:
            return super().run(test)
        finally:
            state.over = True

    def watched_names(self, found):
        """Of the modules that judge."""
        modules = dict.fromkeys(type(one).__module__ for one in found)
        texts = [text for name in modules for text in Watched.names.watch(sys.modules.get(name))]
        return texts + Watched.names.watch_helpers()


class Stack:
    """The file of the first frame up to this one that the change did not leave alone, or an empty text.

    A callable without a frame (a `map`, a partial) acts in the name of its caller. So the caller's line must say so.
    """

    def __init__(self, config, origins):
        self.origins = origins
        self.program = config["program"]
        self.path = os.path.abspath(config["program"] or ".")
        self.ends = (code_of(run_program), code_of(run_module))

    def started_by(self, frame):
        caller, frames = frame, []
        while frame is not None and frame.f_code not in self.ends:
            frames.append(frame.f_code)
            frame = frame.f_back
        if frame is None:
            return "another thread"
        return self.stranger(frames) or self.silent(caller.f_code, caller.f_lineno, ("run",))

    def ended_by(self, error):
        entries, entry = [], error.__traceback__
        while entry is not None:
            entries.append((entry.tb_frame.f_code, entry.tb_lineno))
            entry = entry.tb_next
        return self.stranger([code for code, _ in entries]) or self.silent(*entries[-1] + (EXITS,))

    def stranger(self, codes):
        for code in codes:
            if code not in self.origins.ours and not self.trusted_file(code):
                return self.origins.relative(code.co_filename)[:200] or "nobody"
        return ""

    def silent(self, code, line, words):
        """Where a line does what it does not say; strings and comments say nothing."""
        where = self.trusted_file(code)
        for node in _walk(_parse(self.origins.text(where), where)):
            name = getattr(node, "attr", None) or getattr(node, "id", None)
            is_named = isinstance(name, str) and name.lower() in words
            if is_named and node.lineno <= line <= getattr(node, "end_lineno", line):
                return ""
        return self.origins.relative(where) + ":%d" % line

    def trusted_file(self, code):
        """The program's own code has the name that the command gives it, which may be relative."""
        if code.co_filename != self.program or self.program == self.path:
            return self.origins.trusted_file(code)
        changed = self.origins.relative(self.path) in self.origins.changed
        if changed or self.origins.is_new(self.path) or code not in self.origins.codes(self.path):
            return ""
        return self.path


class Watched(unittest.TextTestResult):
    now = handled = None

    def startTestRun(self):
        self.numbers = {id(one): number for number, one in enumerate(self.state.found)}
        self.started = set()
        super().startTestRun()

    def startTest(self, test, say=None):
        super().startTest(test)
        number = self.numbers.get(id(test))
        if number is None or self.now is not None:
            return
        self.now = [number, None, ""]
        self.started.add(number)
        self.handled = sys.exc_info()[1]  # by a program that runs tests in an `except`
        say("start", number)
        code = code_of(getattr(test, getattr(test, "_testMethodName", ""), None))
        if code is not self.state.codes[number]:
            say("tampering", "the code of " + test.id() + " was replaced")

    def stopTest(self, test, look=None, say=None):
        super().stopTest(test)
        if self.now is None or self.numbers.get(id(test)) != self.now[0]:
            return
        number, outcome, detail = self.now
        self.now = None
        look(self, test)
        say("finish", number, outcome or "error", detail if outcome else "it reported no outcome")

    def look_again(self, test, intact=None, say=None):
        """What the code under test may have made of the runner, of the test and its module, and of this result."""
        intact()
        look_again(self.tripwire, say, False)
        hiding = self.names.hidden_methods(test)
        hiding += [name for name in vars(self) if name in METHODS]
        texts = ["`" + name + "` was replaced" for name in hiding]
        for text in texts + self.names.differences(sys.modules.get(type(test).__module__)):
            say("tampering", text)

    def became(self, test, outcome, detail="", say=None):
        number = self.numbers.get(id(test))
        if self.now is not None and number == self.now[0]:
            if outcome in ("failed", "error"):  # sent at once: what the supervisor knows cannot be taken back
                say("raised", number)
            if self.now[1] is None or ORDER.index(outcome) > ORDER.index(self.now[1]):
                self.now[1:] = [outcome, detail]
        elif number is None:
            self.around(test, outcome, detail)

    def around(self, holder, outcome, detail, say=None):
        """setUpClass, setUpModule and their like: what they stop never starts."""
        text = holder.id() if hasattr(holder, "id") else str(holder)
        what, _, where = text.rstrip(")").partition(" (")
        found = [number for number, one in enumerate(self.state.found) if one.id().startswith(where + ".")]
        stopped = [number for number in found if where and number not in self.started]
        if outcome != "skipped" and not (stopped and what.startswith("setUp")):
            say("problem", text + ": " + detail)
            return
        for number in stopped:
            self.started.add(number)
            say("start", number)
            say("finish", number, outcome, detail if outcome == "skipped" else what + ": " + detail)

    def addSuccess(self, test, say=None):
        super().addSuccess(test)
        fine = getattr(getattr(test, "_outcome", None), "success", True)
        if sys.exc_info()[1] is not self.handled or not fine:
            say("tampering", "a failure of " + test.id() + " was reported as a success")
        self.became(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.became(test, "error", text_of(err[1]))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.became(test, "failed", text_of(err[1]))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        by = self.origins.skipped_by(sys.exc_info()[1])
        if by:
            self.became(test, "failed", "skipped by the code under test (" + by + "): " + str(reason))
        else:
            self.became(test, "skipped", "skip: " + str(reason))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.became(test, "skipped", "xfail: " + text_of(err[1]))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.became(test, "failed", "passed although a failure was expected")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self.became(test, "failed" if failed else "error", text_of(err[1]))


METHODS = frozenset(name for name, value in vars(Watched).items() if code_of(value) is not None)


def watch_skipped_modules(origins, say):
    """A module that skips itself is one skipped test; unless code under test made it."""
    make = unittest.loader._make_skipped_test

    def watched(name, error, *more):
        by = origins.skipped_by(error)
        if by:
            say("problem", "could not load " + name + ": skipped by " + by)
        return make(name, error, *more)

    unittest.loader._make_skipped_test = watched


def _each(test):
    try:
        inner = iter(test)
    except TypeError:
        yield test
        return
    for one in inner:
        for found in _each(one):
            yield found


def title_of(test):
    try:
        return str(test.shortDescription() or "")[:500]
    except Exception:
        return ""


class Modules:
    """Where modules were found, as the finders said: a module can be made to say something else of itself."""

    def __init__(self):
        self.origins = {}
        self.classes = {}  # id -> (class, files); kept alive, so that no id is used twice

    def files_of(self, kind, origins):
        """The files that a class's code is from, found once for all its tests."""
        if id(kind) not in self.classes:
            codes = [code_of(value) for value in vars(kind).values()]
            files = dict.fromkeys(origins.file(code) for code in codes if code is not None)
            self.classes[id(kind)] = kind, list(files)
        return self.classes[id(kind)][1]

    def find_spec(self, name, path=None, target=None):
        for finder in list(sys.meta_path):
            spec = None
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
            if spec is not None:
                self.origins[name] = spec.origin
                return spec
        return None


def file_of(test, modules, origins):
    """The file of a test in the tree: of its class's module, of its dotted name, or of the code of its class."""
    paths = [modules.origins.get(type(test).__module__)] + _paths_by_name(test.id(), origins.root)
    paths += [origins.file(code_of(getattr(test, getattr(test, "_testMethodName", ""), None)))]
    paths += modules.files_of(type(test), origins)
    inside = [origins.relative(path) for path in paths if path and is_within(path, origins.root)]
    # A file that the change adds is no test, or claims to be a test's module when it is not.
    return next((path for path in inside if path not in origins.changed), "") or (inside + [""])[0]


def _paths_by_name(name, root):
    parts = name.split(".")
    starts = [entry for entry in sys.path if is_within(entry, root)] + [root]
    ends = ["/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1)]
    paths = [os.path.join(start, end) for start in starts for end in ends]
    return [path for path in paths if os.path.isfile(path)]
