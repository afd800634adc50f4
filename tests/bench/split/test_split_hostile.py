"""A split oracle and a candidate that lies on the wire, or raises what would end a loop or a script of the tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from split_stage import UNITTEST, SplitStage, all_passed, details, outcomes

from steelyard.bench.split.answering import answer_anew
from steelyard.bench.split.talk import MAX_FRAME

SANDBOXES = ["bubblewrap", "docker"]


@pytest.fixture
def split(tmp_path: Path, home_of_pytest: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> SplitStage:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "split").mkdir()
    return SplitStage(tmp_path / "split", home_of_pytest, kind)


# Answers in place of the worker, on whichever descriptor the channel is.
LIAR = """
import os, sys, time

def asked():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if isinstance(value, dict) and type(value.get("id")) is int and "op" in value:
                return value["id"]
        frame = frame.f_back

def f(x):
    n = asked()
    text = LIE
    for fd in range(3, 64):
        try:
            view = memoryview(text + b"\\n")
            while view:
                view = view[os.write(fd, view):]
        except OSError:
            pass
    time.sleep(3)
    return 2

def g(x):
    return x + 1
"""
LIES = {
    "deep": b'{"id":%d,"ok":' + b"[" * 400 + b"]" * 400 + b"}",
    "deeper": b'{"id":%d,"ok":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a number of a million digits": b'{"id":%d,"ok":' + b"7" * 1_000_000 + b"}",
    "a number for infinity": b'{"id":%d,"ok":1e999}',
    "a key twice": b'{"id":%d,"ok":1,"ok":2,"raised":3}',
    "not a number": b'{"id":%d,"ok":NaN}',
    "not UTF-8": b'{"id":%d,"ok":"\xff\xfe"}',
    "half a character": b'{"id":%d,"ok":"\\ud800"}',
    "numbers that are longer written out": b'{"id":%d,"ok":[1e15' + b",1e15" * 1_000_000 + b"]}",
    "the answer to the next ask": b'{"id":1%d,"ok":2}',
    "true as an id": b'{"id":true,"ok":"%d"}',
    "nothing": b"%d",
}


@pytest.mark.parametrize("lie", [pytest.param(text, id=name) for name, text in LIES.items()])
def test_what_is_no_answer_is_refused(lie: bytes) -> None:
    assert answer_anew(lie % 1, 1) is None


@given(st.binary(max_size=200), st.integers(0, 5))
def test_bytes_of_any_kind_never_end_the_thread_that_reads_them(result: bytes, number: int) -> None:
    answer = answer_anew(result, number)
    assert answer is None or json.loads(answer)["id"] == number


def test_a_text_as_long_as_a_frame_may_be_is_an_answer() -> None:
    longest = b'{"id":1,"ok":"%s"}' % (b"x" * (MAX_FRAME - 16))
    assert len(longest) == MAX_FRAME
    assert answer_anew(longest, 1) == longest


@pytest.mark.parametrize("lie", ["b'[' * 400 + b']' * 400", "b'7' * 1_000_000", r"b'\"\xff\"'"])
def test_a_lie_fails_its_test_at_once_and_the_whole_run(split: SplitStage, lie: str) -> None:
    source = LIAR.replace("LIE", 'b\'{"id":%d,"ok":\' % n + ' + lie + " + b'}'")
    hidden = "from shop import f, g\n\ndef test_f():\n    assert f(1) == 2\n\ndef test_g():\n    assert g(1) == 2\n"
    ran = split.run({"shop.py": source}, hidden)
    assert outcomes(ran) == {"test_f": "failed", "test_g": "passed"}, details(ran)
    assert "malformed answer" in details(ran)
    assert not ran.finished.timed_out
    assert ran.reported.problems


STOPS = """
class Done(StopIteration):
    pass

def stop(x):
    raise StopIteration(x)

def done(x):
    raise Done(x)

async def stop_later(x):
    raise StopAsyncIteration(x)

def leave(x):
    raise GeneratorExit(x)

def interrupt(x):
    raise KeyboardInterrupt(x)

class Numbers:
    def __init__(self):
        self.left = [1, 2]
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop(0)
"""


def test_nothing_that_is_raised_ends_a_loop_of_the_tests(split: SplitStage) -> None:
    hidden = """
import asyncio
import pytest
import shop

@pytest.mark.parametrize("name", ["stop", "done", "leave", "interrupt"])
def test_loops(name):
    with pytest.raises(RuntimeError, match="the candidate raised"):
        for got in map(getattr(shop, name), [7]):
            pass

def test_async_loops():
    async def each():
        yield await shop.stop_later(7)
    async def loop():
        async for got in each():
            pass
    with pytest.raises(RuntimeError):
        asyncio.run(loop())

def test_its_own_class_keeps_its_name():
    with pytest.raises(shop.Done) as caught:
        shop.done(7)
    assert caught.value.args == (7,)

def test_an_iterator_may_end():
    numbers = shop.Numbers()
    assert [next(numbers), next(numbers)] == [1, 2]
    with pytest.raises(StopIteration):
        next(numbers)
    assert next(numbers, 5) == 5
"""
    ran = split.run({"shop.py": STOPS}, hidden, objects=("shop:Numbers",))
    assert all_passed(ran), details(ran)


EXITS = "def main(code):\n    raise SystemExit(code)\n"


def test_a_program_that_exits_can_be_expected_to(split: SplitStage) -> None:
    hidden = (
        "import pytest\nfrom shop import main\n\ndef test_expected():\n"
        "    with pytest.raises(SystemExit) as caught:\n        main(2)\n    assert caught.value.code == 2\n\n"
        "def test_unexpected():\n    main(0)\n"
    )
    ran = split.run({"shop.py": EXITS}, hidden)
    assert outcomes(ran) == {"test_expected": "passed", "test_unexpected": "failed"}


def test_a_program_that_exits_does_not_end_the_tests_of_unittest(split: SplitStage) -> None:
    hidden = (
        "import unittest\nfrom shop import main\n\nclass Main(unittest.TestCase):\n"
        "    def test_a(self):\n        main(0)\n\n    def test_b(self):\n"
        "        with self.assertRaises(SystemExit):\n            main(0)\n"
    )
    ran = split.run({"shop.py": EXITS}, hidden, command=UNITTEST)
    assert {name: outcome != "passed" for name, outcome in outcomes(ran).items()} == {
        "test_a": True,
        "test_b": False,
    }


@pytest.mark.parametrize(
    "command", ["sh -c 'python3 tests/test_hidden.py'", "python3 -m pytest -q tests", UNITTEST]
)
def test_a_program_that_exits_does_not_end_a_script_with_its_exit_code(
    split: SplitStage, command: str
) -> None:
    hidden = "import sys\nsys.path.insert(0, '.')\nfrom shop import main\n\nGOT = main(0)\n\n\ndef test_x():\n    assert True\n"
    assert not all_passed(split.run({"shop.py": EXITS}, hidden, command=command))
