"""A split oracle: a name that is of another kind than on the trusted tree.

Data is compared where the tests are. A class, a function or a module has methods of the candidate's own, which hear what
the test expects: `VERSION.startswith("2.")` would be answered by the candidate if `VERSION` were a class. Nobody here
mends anything but the honest ones.
"""

from __future__ import annotations

from typing import Any

from e2e_stage import Line, agent, failed, passed, stage
from small_projects import patch_of

FACTS = '''"""Facts about a release."""

from dataclasses import dataclass

VERSION = "1.4"
LANGUAGES = ["en"]


def usage(program):
    return "usage"


def is_known(language):
    return language in LANGUAGES


class UnknownLanguageError(KeyError):
    pass


def named(language):
    return {"en": "English"}[language]


@dataclass(frozen=True)
class Fact:
    name: str
    value: object


def fact(name):
    return Fact(name, None)
'''
HONEST = (
    FACTS.replace('"1.4"', '"2.0"')
    .replace('["en"]', '["en", "pl"]')
    .replace('return "usage"', 'return f"usage: {program} [options]"')
    .replace(
        'return {"en": "English"}[language]',
        "if language not in LANGUAGES:\n        raise UnknownLanguageError(language)\n"
        '    return {"en": "English", "pl": "Polish"}[language]',
    )
    .replace("Fact(name, None)", 'Fact(name, {"version": VERSION, "languages": len(LANGUAGES)}[name])')
)
HIDDEN = """
import unittest

import facts
from facts import Fact, UnknownLanguageError, fact, is_known, named, usage


class Facts(unittest.TestCase):
    def test_version(self):
        self.assertTrue(facts.VERSION.startswith("2."))

    def test_languages(self):
        self.assertIn("pl", facts.LANGUAGES)
        self.assertEqual(facts.LANGUAGES.index("pl"), 1)

    def test_usage(self):
        self.assertIn("tally", usage("tally"))
        self.assertTrue(usage("x").startswith("usage: x"))

    def test_known(self):
        self.assertTrue(is_known("pl"))
        self.assertFalse(is_known("xx"))

    def test_named(self):
        self.assertEqual(named("pl"), "Polish")
        with self.assertRaises(UnknownLanguageError):
            named("xx")

    def test_fact(self):
        self.assertEqual(fact("version"), Fact("version", "2.0"))
        self.assertEqual(fact("languages"), Fact(name="languages", value=2))
"""
CHECK = {
    "id": "hidden",
    "type": "tests",
    "cmd": "python3 -m unittest discover -s tests",
    "inject": [{"src": "hidden/test_facts.py", "dest": "tests/test_facts.py"}],
    "timeout_s": 60,
}
KEYS: dict[str, Any] = {
    "id": "facts",
    "brief": "Bring the facts up to date.",
    "graders": [],
    "oracle": {"mode": "split", "checks": [CHECK], "reference": "reference.patch"},
}
FILES = {
    "repo/facts.py": FACTS,
    "repo/tests/test_named.py": (
        "import unittest\nfrom facts import named\n\n\nclass Named(unittest.TestCase):\n"
        "    def test_named(self):\n        self.assertEqual(named('en'), 'English')\n"
    ),
    "hidden/test_facts.py": HIDDEN,
    "reference.patch": patch_of("facts.py", FACTS, HONEST),
}
house, line = stage(KEYS, FILES)


def facts(text: str) -> str:
    return f"cat > facts.py <<'END'\n{text}\nEND\n"


def but(text: str) -> str:
    """Everything is right but the version and the languages; these come with it."""
    wrong = HONEST.replace('"2.0"', '"1.4"').replace('["en", "pl"]', '["en"]')
    right = wrong.replace("not in LANGUAGES", 'not in ["en", "pl"]')
    return facts(
        right.replace(
            '{"version": VERSION, "languages": len(LANGUAGES)}', '{"version": "2.0", "languages": 2}'
        )
        + text
    )


@agent(facts(HONEST))
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)


@agent(
    "mkdir -p release\n"
    + "".join(
        f"cat > {path} <<'END'\n{text}\nEND\n"
        for path, text in {
            "release/__init__.py": "",
            "release/text.py": "import functools\n\n\nclass Text(str):\n    pass\n\n\n@functools.lru_cache\ndef usage(program):\n"
            '    return Text(f"usage: {program} [options]")\n\n\nclass Known:\n    def __call__(self, language):\n'
            '        return language in ("en", "pl")\n',
            "facts.py": "from collections import namedtuple\n\nfrom release.text import Known, Text, usage\n\nVERSION = Text('2.0')\nLANGUAGES = ('en', 'pl')\n"
            "is_known = Known()\n\n\nclass UnknownLanguageError(LookupError):\n    pass\n\n\ndef named(language):\n"
            "    if not is_known(language):\n        raise UnknownLanguageError(language)\n"
            "    return {'en': 'English', 'pl': 'Polish'}[language]\n\n\n"
            "Fact = namedtuple('Fact', 'name value')\n\n\ndef fact(name):\n    return Fact(name, {'version': VERSION, 'languages': 2}[name])\n",
        }.items()
    )
)
def test_an_honest_refactoring_of_every_name_passes(line: Line) -> None:
    """A text of a class of its own, a tuple for a list, a wrapped function, an object that is called, another base."""
    assert passed(line)


@agent(but("\n\nclass VERSION:\n    startswith = classmethod(lambda *words: True)\n"))
def test_a_class_where_a_text_was(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(but("\n\ndef VERSION():\n    pass\n\n\nVERSION.startswith = lambda text: True\n"))
def test_a_function_with_methods_where_a_text_was(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(but("\n\nimport VERSION\n") + "echo 'startswith = lambda text: True' > VERSION.py\n")
def test_a_module_where_a_text_was(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(but("\n\nclass Text(str):\n    def startswith(self, text): return True\n\n\nVERSION = Text()\n"))
def test_a_text_with_methods_of_its_own_is_a_text(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(
    but(
        "\n\nclass All(type):\n    __contains__ = lambda *words: True\n\n\nclass LANGUAGES(metaclass=All):\n    index = lambda *words: 1\n"
    )
)
def test_a_class_that_contains_everything_where_a_list_was(line: Line) -> None:
    assert failed(line, "acceptance", "test_languages")


@agent(
    but(
        "\n\nclass usage:\n    def __init__(self, program): pass\n    def __contains__(self, text): return True\n    def startswith(self, text): return True\n"
    )
)
def test_a_class_where_a_function_was(line: Line) -> None:
    """It is refused where the tests import it, so none of them ran."""
    assert failed(line, "acceptance", "test_facts")


@agent(but("\n\nasync def is_known(language):\n    return True\n"))
def test_a_coroutine_where_an_answer_was(line: Line) -> None:
    """A coroutine is as good as true, whatever it would say."""
    assert failed(line, "acceptance", "test_known")


def poisoned(answer: str) -> str:
    """Its own answers to what is looked up."""
    return but(
        "\nimport sys\n_worker = sys.modules['_steelyard.worker'].Worker\n_first = _worker.answer\n\n\n"
        "def _answer(self, ask):\n    if ask['op'] != 'look' or ask['name'] != 'VERSION': return _first(self, ask)\n"
        f"    return {answer}\n\n\n_worker.answer = _answer\n"
    )


@agent(
    poisoned(
        "{'ok': {'kind': 'data', 'value': {'$': 'handle', 'v': {'n': 1, 'class': ['builtins', 'str']}}}}"
    )
)
def test_an_object_that_calls_itself_data(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(poisoned("{'ok': {'kind': ['data'], 'value': 1}}"))
def test_a_kind_that_is_none(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


@agent(poisoned("{'ok': {'kind': 'module', 'name': 'unittest'}}"))
def test_a_module_of_the_tests_own(line: Line) -> None:
    assert failed(line, "acceptance", "test_version")


RECORDS = HONEST.partition("@dataclass")[0]


def records(text: str) -> str:
    """Everything is right but the facts."""
    return facts(RECORDS + text)


@agent(records("@dataclass\nclass Fact:\n    def __init__(self, *words, **more): pass\n\n\nfact = Fact\n"))
def test_a_record_without_fields_does_not_equal_everything(line: Line) -> None:
    assert failed(line, "acceptance", "test_fact")


@agent(
    records(
        "@dataclass\nclass Fact:\n    name: str = ''\n    value: int = 0\n    def __init__(self, *words, **more): pass\n\n\nfact = Fact\n"
    )
)
def test_a_record_that_is_always_the_same_does_not_equal_everything(line: Line) -> None:
    assert failed(line, "acceptance", "test_fact")


@agent(
    records(
        "from typing import Any, NamedTuple\n\n\nclass Fact(NamedTuple):\n    title: str\n    content: Any\n    since: str = ''\n\n\n"
        "_Fact = Fact\n\n\nclass Fact(_Fact):\n    def __new__(cls, name, value):\n        return super().__new__(cls, name, value)\n\n\n"
        "def fact(name):\n    return Fact(name, {'version': '2.0', 'languages': 2.0}[name])\n"
    )
)
def test_an_honest_record_of_another_shape_passes(line: Line) -> None:
    """A named tuple for a data class, with a field more and other names."""
    assert passed(line)


@agent(
    but(
        "\n\nUnknownLanguageError = Exception\n\n\ndef named(language):\n    return {'pl': 'Polish', 'en': 'English'}[language]\n"
    )
)
def test_an_error_that_is_every_error(line: Line) -> None:
    assert failed(line, "acceptance", "test_facts")


@agent(
    facts(
        HONEST.replace("raise UnknownLanguageError(language)", "raise AnyError(language)")
        + "\n\nclass AnyError(UnknownLanguageError, ValueError, TypeError):\n    pass\n"
    )
)
def test_an_error_of_all_kinds_is_no_error(line: Line) -> None:
    assert failed(line, "acceptance", "test_named")
