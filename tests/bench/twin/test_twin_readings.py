"""What was read in a file of tests is kept, and no more of it than there is room for."""

from __future__ import annotations

import pytest

from steelyard.bench.twin import readings
from steelyard.bench.twin.catalogue import twin_of
from steelyard.bench.twin.readings import Readings


def test_a_file_is_read_once() -> None:
    kept: Readings[int] = Readings()
    asked: list[bytes] = []

    def read(source: bytes) -> int:
        asked.append(source)
        return len(asked)

    assert [kept.of(b"a", read), kept.of(b"a", read), kept.of(b"b", read)] == [1, 1, 2]
    assert asked == [b"a", b"b"]


def test_that_a_file_cannot_be_read_is_kept_too() -> None:
    kept: Readings[int] = Readings()
    asked: list[bytes] = []
    assert kept.of(b"a", asked.append) is None
    assert kept.of(b"a", asked.append) is None
    assert len(asked) == 1


def test_the_same_bytes_of_another_language_are_read_again() -> None:
    kept: Readings[str] = Readings()
    assert [kept.of(b"a", lambda _: "x", "x"), kept.of(b"a", lambda _: "y", "y")] == ["x", "y"]


@pytest.mark.parametrize(("size", "files"), [(1 << 10, 4), (1 << 20, 2)])
def test_what_was_used_least_recently_goes_first(
    monkeypatch: pytest.MonkeyPatch, size: int, files: int
) -> None:
    monkeypatch.setattr(readings, "MAX_FILES", 4)
    monkeypatch.setattr(readings, "MAX_BYTES", 2 << 20)
    kept: Readings[int] = Readings()
    asked: list[bytes] = []
    sources = [bytes([number]) * size for number in range(files + 1)]
    for source in (*sources[:files], sources[0], sources[files]):
        kept.of(source, lambda text: asked.append(text[:1]) or 1)  # type: ignore[func-returns-value]  # on the way
    for source in (sources[0], sources[files]):
        kept.of(source, lambda _: pytest.fail("it is kept"))
    kept.of(sources[1], lambda text: asked.append(text[:1]) or 1)  # type: ignore[func-returns-value]  # on the way
    assert asked == [*(source[:1] for source in sources), sources[1][:1]]


@pytest.mark.parametrize("number", ["9" * 5000, "1." + "9" * 5000, "1e" + "9" * 5000, "0x" + "9" * 5000])
@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("test_x.py", "def test_it():\n    assert f(1) == {}\n"),
        ("x.test.js", "test('it', () => {{ assert.equal(f(1), {}); }});\n"),
        ("x_test.go", 'package x\nfunc TestIt(t *testing.T) {{\n\tif f(1) != {} {{ t.Fatal("no") }}\n}}\n'),
        ("tests/x.rs", "#[test]\nfn it() {{ assert_eq!(f(1), {}); }}\n"),
    ],
    ids=["python", "javascript", "go", "rust"],
)
def test_a_number_of_more_digits_than_python_reads_breaks_no_twin(path: str, test: str, number: str) -> None:
    source = test.format(number).encode()
    twin = twin_of(path, source, b"secret")
    assert twin is None or twin.original == source
