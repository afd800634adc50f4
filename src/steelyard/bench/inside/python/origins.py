"""Runs inside the sandbox, in the tests' process: which file a piece of code really comes from.

Code can claim any file (`co_filename`): `compile(text, "conftest.py", "exec")`. Here a code
object is from a file when compiling that file makes an equal one, as it is or as pytest rewrites its assertions.
It is trusted when the change did not bring the file and it was not written since the tests began.
"""

import ast
import contextlib
import io
import os
import re
import sys

_compile, _open, _parse = compile, io.open, ast.parse
_stat, _isfile = os.stat, os.path.isfile
RUNNER_FOLDERS = ("/_pytest/", "/pytest/", "/pluggy/", "/unittest/")


class Origins:
    def __init__(self, config):
        self.root = config["root"]
        self.changed = frozenset(config["changed"])
        self.began = config["began"]
        self.standard = os.path.dirname(os.__file__)
        self.ours = set()  # code of this program
        self.loaded = {}  # id -> code of the runner, from before the tree; kept alive, so that no id is used twice
        self.made = {}
        self.texts = {}
        self.rewrite = getattr(sys.modules.get("_pytest.assertion.rewrite"), "rewrite_asserts", None)
        self.settings = None  # pytest's, once there are some

    def file(self, code):
        """The file that has this code, or ""."""
        where = getattr(code, "co_filename", "")
        if where.startswith("<frozen ") and where.endswith(">"):
            where = os.path.join(self.standard, where[8:-1].replace(".", "/") + ".py")
        known = os.path.isabs(where) and (id(code) in self.loaded or code in self.codes(where))
        return where if known else ""

    def remember(self, codes):
        """Register code objects that need no compiling, because only the import of their file can have made them."""
        self.loaded.update((id(code), code) for code in codes if code is not None)

    def trusted_file(self, code):
        """The same, when it is not the candidate's."""
        where = self.file(code)
        if not where or self.relative(where) in self.changed or self.is_new(where):
            return ""
        known = is_within(where, self.root) or is_installed(where) or is_within(where, self.standard)
        return where if known else ""

    def relative(self, where):
        return where[len(self.root) + 1 :] if is_within(where, self.root) else where

    def is_new(self, where):
        try:
            return _stat(where).st_ctime > self.began
        except OSError:
            return True

    def text(self, where):
        if where not in self.texts:
            try:
                with _open(where, "rb") as file:
                    self.texts[where] = file.read(16 << 20)
            except OSError:
                self.texts[where] = b""
        return self.texts[where]

    def codes(self, where):
        if where not in self.made:
            found = set()
            for make in (self.plain, self.rewritten):
                with contextlib.suppress(Exception):  # no Python, or a pytest that rewrites in another way
                    found |= every_code(make(self.text(where), where))
            self.made[where] = found
        return self.made[where]

    def plain(self, text, where):
        return _compile(text, where, "exec", 0, True)

    def rewritten(self, text, where):
        tree = _parse(text, where)
        self.rewrite(tree, text, where, self.settings)
        return _compile(tree, where, "exec", 0, True)

    def skipped_by(self, error):
        """The file of the code under test that made a test skip, or "" where only code of the author or of a package did.

        Code without a frame (a partial, a method given to `==`) can raise in their name too. So the line that skips
        must say so.
        """
        last, entry = None, getattr(error, "__traceback__", None)
        while entry is not None:
            code = entry.tb_frame.f_code
            where = "" if code in self.ours else self.trusted_file(code)
            if code not in self.ours:
                if not where:
                    return self.relative(code.co_filename)[:200] or "nobody"
                if not self.is_runners(where):
                    last = where, entry.tb_lineno
            entry = entry.tb_next
        return (
            "" if last is None or self.says_skip(error, *last) else self.relative(last[0]) + ":%d" % last[1]
        )

    def is_runners(self, where):
        outside = not is_within(where, self.root) or is_installed(where)
        return outside and any(folder in where for folder in RUNNER_FOLDERS)

    def says_skip(self, error, where, line):
        lines = self.text(where).decode("utf-8", "replace").split("\n")[max(line - 3, 0) : line + 2]
        named = r"(?i)skip|xfail|raise\s+[\w.]*" + re.escape(type(error).__name__)
        return re.search(named, "\n".join(lines)) is not None

    def assigns(self, where, name):
        """Whether a file has an assignment to an attribute of this name, or the name as a word for `setattr`."""
        shape = r"\b%s\s*=(?!=)|[.'\"]%s['\"]" % (re.escape(name), re.escape(name))
        return re.search(shape, self.text(where).decode("utf-8", "replace")) is not None


def every_code(code):
    """A code object and those in it."""
    found, left = set(), [code]
    while left:
        one = left.pop()
        found.add(one)
        left += [held for held in one.co_consts if isinstance(held, type(code))]
    return found
