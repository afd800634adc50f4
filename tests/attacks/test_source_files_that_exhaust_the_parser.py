"""A change has a file of a few kilobytes that no parser should be asked about.

Graders that look for weakened tests read the files of a change as syntax trees, in the process that controls the run. A parser that
recovers from errors needs time and memory by the square of a file's size: 20 KB of `a=>` in a Java file took gigabytes, and the kernel
ended the controller, with every run that it controlled. A key of TOML with 50,000 parts took ten gigabytes.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from authoring import Author, Steelyard
from steelyard.bench.transfer.read_toml import read_toml
from steelyard.graders.syntax.reading.untrusted import parse_untrusted
from steelyard.grammars import JAVA, RUST, Grammar

LONG_KEY = '/usr/bin/python3 -c \'print(".".join("a" * 100_000) + " = 1")\' > pyproject.toml\n'
PLANT = "mkdir -p tests; /usr/bin/python3 -c 'print(\"a=>\" * 8000)' > tests/CartTest.java\n"


@pytest.mark.parametrize(
    ("text", "grammar"), [(b"a=>" * 8000, JAVA), (b"%w(" * 8000, RUST)], ids=["java", "rust"]
)
def test_a_file_that_takes_gigabytes_to_recover_from_takes_them_in_no_process_of_ours(
    text: bytes, grammar: Grammar
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert parse_untrusted(text, grammar) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


def test_an_honest_file_of_that_size_is_parsed() -> None:
    assert (
        parse_untrusted(b"class A {\n" + b"    int f(int a) { return a; }\n" * 800 + b"}\n", JAVA) is not None
    )


def test_a_key_with_many_parts_is_not_read() -> None:
    with pytest.raises(ValueError, match="100 parts"):
        read_toml(b"'='." + b".".join([b"a"] * 1000) + b" = 1\n")


def test_many_dots_in_values_and_comments_are_read() -> None:
    text = b'a = "' + b"." * 500 + b'"\n# ' + b"." * 500 + b"\nb = [" + b"1.5, " * 500 + b"]\n"
    assert list(read_toml(text)) == ["a", "b"]


@pytest.mark.parametrize("plant", [PLANT, LONG_KEY], ids=["java", "toml"])
def test_a_change_with_such_a_file_is_graded_as_any_other(
    plant: str, author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    folder: Path = author.write(graders=[{"type": "no_new_skips"}, {"type": "assertions_not_weakened"}])
    line = steelyard("run", folder, "--agent", script(plant), "--json").line
    assert (line["status"], line["verdict"], line["reward"]) == ("scorable", "fail", 0.0)
