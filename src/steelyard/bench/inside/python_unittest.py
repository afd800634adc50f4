"""Runs inside the sandbox, in the tests' process: `python -m unittest`, with a result that sees each test end."""

import os
import sys
import unittest

ORDER = ("passed", "skipped", "failed", "error")


def run_tests(config, say):
    watch_skipped_modules(config, say)
    Watched.config, Watched.say = config, staticmethod(say)
    Watched.tripwire = tripwire = Tripwire(globals())
    say("ready")
    put_the_tree_on_the_path(config)
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
    look_again(tripwire, config, say, True)
    return code


class Watching(unittest.TextTestRunner):
    def __init__(self, *arguments, **options):
        options["resultclass"] = Watched
        super().__init__(*arguments, **options)

    def run(self, test):
        found, config = list(_each(test)), Watched.config
        only = config["only"]
        if isinstance(only, list):
            same = [one for one in found if one.id() == only[0]]
            found = same[only[1] : only[1] + 1]
            test = unittest.TestSuite(found)
        Watched.found = found
        Watched.codes = {}
        for number, one in enumerate(found):
            Watched.codes[number] = code_of(getattr(one, getattr(one, "_testMethodName", ""), None))
            Watched.say("plan", one.id(), _file(one, config["root"]))
        Watched.say("planned")
        if only == "collect":
            test = unittest.TestSuite()
        return super().run(test)


class Watched(unittest.TextTestResult):
    now = None

    def startTestRun(self):
        self.numbers = {id(one): number for number, one in enumerate(self.found)}
        super().startTestRun()

    def startTest(self, test):
        super().startTest(test)
        number = self.numbers.get(id(test))
        if number is None or self.now is not None:
            return
        self.now = [number, None, ""]
        self.say("start", number)
        code = code_of(getattr(test, getattr(test, "_testMethodName", ""), None))
        if code is not self.codes[number]:
            self.say("tampering", "the code of " + test.id() + " was replaced")

    def stopTest(self, test):
        super().stopTest(test)
        if self.now is None or self.numbers.get(id(test)) != self.now[0]:
            return
        number, outcome, detail = self.now
        self.now = None
        look_again(self.tripwire, self.config, self.say, False)
        self.say("finish", number, outcome or "error", detail if outcome else "it told no outcome")

    def became(self, test, outcome, detail=""):
        number = self.numbers.get(id(test))
        if self.now is not None and number == self.now[0]:
            if self.now[1] is None or ORDER.index(outcome) > ORDER.index(self.now[1]):
                self.now[1:] = [outcome, detail]
        elif number is None:
            self.around(test, outcome, detail)

    def around(self, holder, outcome, detail):
        """setUpClass, setUpModule and their like: what they stop never starts."""
        text = holder.id() if hasattr(holder, "id") else str(holder)
        if outcome != "skipped":
            self.say("problem", text + ": " + detail)
            return
        where = text.partition("(")[2].rstrip(")")
        for number, one in enumerate(self.found):
            if where and one.id().startswith(where + "."):
                self.say("start", number)
                self.say("finish", number, "skipped", detail)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.became(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.became(test, "error", text_of(err[1]))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.became(test, "failed", text_of(err[1]))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        by = passes_through(sys.exc_info()[1], self.config["changed"], self.config["root"])
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


def watch_skipped_modules(config, say):
    """A module that skips itself is one skipped test; unless code under test made it."""
    make = unittest.loader._make_skipped_test

    def watched(name, error, *more):
        by = passes_through(error, config["changed"], config["root"])
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


def _file(test, root):
    path = getattr(sys.modules.get(type(test).__module__), "__file__", None) or ""
    return path[len(root) + 1 :] if is_within(path, root) else ""
