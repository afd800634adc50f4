"""The twin of a Rust file: every change that is called certain compiles, and makes a passing test fail."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.suite.cargo_targets import CargoTargets
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.suite.result_files import ResultFiles
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.catalogue import has_twin
from steelyard.bench.twin.rust.twin import twin_rust
from steelyard.bench.twin.written import is_surely_run, written_tests
from steelyard.grammars import RUST, parse

SECRETS = (b"drawn for this grading", b"and drawn for the next")
needs_rust = pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")

HEAD = """#![deny(warnings)]
#![allow(dead_code)]

#[derive(Debug, PartialEq, Clone)]
struct Point {
    x: i32,
    y: i32,
}

fn add(a: i32, b: i32) -> i32 {
    a + b
}

fn half(n: i32) -> Result<i32, String> {
    if n % 2 == 0 {
        Ok(n / 2)
    } else {
        Err("an odd number".to_string())
    }
}

fn check(got: i32, want: i32) {
    assert_eq!(got, want);
}
"""
# Bodies that pass as they are, each with one assertion.
CERTAIN = {
    "number": "assert_eq!(add(2, 3), 5);",
    "other_side": "assert_eq!(5, add(2, 3));",
    "with_a_message": 'assert_eq!(add(2, 3), 5, "sum of {}", 2);',
    "without_a_semicolon": "assert_eq!(add(2, 3), 5)",
    "negative": "assert_eq!(add(1, -4), -3);",
    "zero": "assert_eq!(add(1, -1), 0);",
    "largest_u8": "let got: u8 = 255;\n    assert_eq!(got, 255);",
    "smallest_i8": "let got: i8 = -128;\n    assert_eq!(got, -128);",
    "suffix": "assert_eq!(200u8 + 55, 255u8);",
    "hexadecimal": "assert_eq!(add(200, 55), 0xff);",
    "float32_with_many_digits": "let got: f32 = 3.1415926;\n    assert_eq!(got, 3.1415926);",
    "character": "assert_eq!(\"abc\".chars().next(), Some('a'));",
    "text": 'assert_eq!("ABC".to_lowercase(), "abc");',
    "owned_text": 'assert_eq!("ABC".to_lowercase(), String::from("abc"));',
    "empty_text": 'assert_eq!(" ".trim(), "");',
    "escapes": 'assert_eq!("a\\n".to_string(), "a\\n");',
    "truth": "assert_eq!(add(1, 1) == 2, true);",
    "option": "assert_eq!(Some(add(1, 1)), Some(2));",
    "result": "assert_eq!(half(4), Ok(2));",
    "error": 'assert_eq!(half(3), Err("an odd number".to_string()));',
    "list": 'assert_eq!("a b".split(\' \').collect::<Vec<_>>(), vec!["a", "b"]);',
    "slice": "assert_eq!(&[add(0, 1), 2][..], &[1, 2]);",
    "tuple": 'assert_eq!((add(1, 1), "a"), (2, "a"));',
    "named": "let want = 3;\n    assert_eq!(add(1, 2), want);",
    "names": "let one = add(1, 2);\n    let two = add(2, 1);\n    assert_eq!(one, two);",
    "holds": "assert!(add(1, 1) == 2);",
    "both_hold": 'assert!(half(3).is_err() && half(4) == Ok(2), "no");',
    "predicate": "assert!(half(4).is_ok());",
    "either": "assert!(half(4).is_ok() || half(3).is_ok());",
    "contains": 'assert!("one big tree".contains("big tree"));',
    "order": "assert!(add(1, 1) < 3);",
    "unequal": "assert_ne!(add(1, 1), 3);",
    "table": "for (a, want) in [(1, 2), (2, 3)] {\n        assert_eq!(add(a, 1), want);\n    }",
    "named_table": 'let cases = vec![("A", "a"), ("B", "b")];\n    for (input, want) in cases {\n        assert_eq!(input.to_lowercase(), want);\n    }',
    "borrowed_table": "for (a, want) in &[(1, 2), (2, 3)] {\n        assert_eq!(add(*a, 1), *want);\n    }",
    "counting": "for n in 0..3 {\n        assert_eq!(add(n, 0), n);\n    }",
    "helper": "check(add(1, 2), 3);",
    "unwrapping": "half(4).unwrap();",
}
MORE = """
#[test]
#[should_panic(expected = "an odd number")]
fn panics_with_a_text() {
    half(3).unwrap();
}

#[test]
#[should_panic]
fn panics() {
    half(3).unwrap();
}

#[test]
fn with_a_result() -> Result<(), String> {
    assert_eq!(half(4)?, 2);
    Ok(())
}

mod inner {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
"""
MARKED = {"unwrapping", "panics"}


def source(bodies: dict[str, str]) -> bytes:
    return (
        HEAD + "".join(f"\n#[test]\nfn {name}() {{\n    {body}\n}}\n" for name, body in bodies.items())
    ).encode()


def twin(text: bytes, secret: bytes = SECRETS[0]) -> Twin:
    made = twin_rust(text, "tests/a.rs", secret)
    assert made is not None
    return made


WHOLE = source(CERTAIN) + MORE.encode()


def test_every_body_is_certain_to_fail_when_it_is_changed() -> None:
    keys = [*CERTAIN, "panics_with_a_text", "panics", "with_a_result", "inner::adds"]
    assert twin(WHOLE).changed == dict.fromkeys(keys, True)


def test_a_failing_assertion_is_added_only_where_nothing_can_be_changed() -> None:
    edits = twin(WHOLE).edits
    added = ("assert!(false)", "if true { return; }")
    assert {
        unit for unit, some in edits.items() if any(one.text.strip(" ;") in added for one in some)
    } == MARKED


def test_a_failing_assertion_an_opposite_and_a_value_in_the_name_are_marked() -> None:
    opposites = {"counting", "either", "names", "order", "predicate"}
    assert twin(WHOLE).marked == MARKED | opposites | {"zero"}


@given(secret=st.binary(min_size=8, max_size=8), chosen=st.sets(st.sampled_from(sorted(CERTAIN))))
def test_any_choice_of_changes_parses_and_keeps_the_lines(secret: bytes, chosen: set[str]) -> None:
    text = twin(WHOLE, secret).text(chosen)
    assert parse(text, RUST) is not None
    assert text.count(b"\n") == WHOLE.count(b"\n")


@pytest.mark.parametrize(
    "body",
    [
        "if quick() { return; }\n    assert_eq!(add(1, 2), 3);",
        "for n in numbers() { assert_eq!(add(n, 0), 3); }",
        "if x() { assert_eq!(add(1, 2), 3); }",
        "assert!(elapsed < limit);",
    ],
)
def test_what_a_passing_test_may_not_reach_is_not_called_certain(body: str) -> None:
    assert twin(source({"x": body})).marked == {"x"}


@pytest.mark.parametrize(
    "body",
    [
        "let (got, want) = (got / 10, want / 10); assert_eq!(got, want);",
        "let got = got / 10; let want = want / 10; assert_eq!(got, want);",
        "got /= 10; want /= 10; assert_eq!(got, want);",
        "shorten(&mut got); shorten(&mut want); assert_eq!(got, want);",
    ],
)
def test_a_helper_that_compares_something_else_than_its_arguments_makes_no_change_certain(body: str) -> None:
    helper = f"\nfn same_tens(mut got: i32, mut want: i32) {{\n    {body}\n}}\n"
    assert twin(source({"x": "same_tens(add(1, 2), 3);"}) + helper.encode()).marked == {"x"}


def test_a_value_whose_comparison_is_not_known_is_only_likely() -> None:
    made = twin(source({"x": "assert_eq!(origin(), Point { x: 1, y: 2 });"}))
    assert (made.changed, made.marked) == ({"x": False}, frozenset())


@pytest.mark.parametrize("text", [b"", b"#[test]\nfn x() {", b"\xff\xfe", b"fn add() {}\n"])
def test_a_file_without_readable_tests_has_no_twin(text: bytes) -> None:
    assert twin_rust(text, "tests/a.rs", SECRETS[0]) is None


@pytest.mark.parametrize(
    ("path", "command", "has_one"),
    [
        ("tests/acceptance.rs", "cargo test", True),
        ("crates/shop/tests/deep/main.rs", "cargo test --workspace", True),
        ("src/lib.rs", "cargo test", False),
        ("tests/common/mod.rs", "cargo test", False),
        ("tests/acceptance.rs", "make test", False),
    ],
)
def test_integration_tests_have_a_twin_where_the_command_runs_cargo(
    path: str, command: str, *, has_one: bool
) -> None:
    assert has_twin(path, Suite(command)) is has_one


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("cargo test", True),
        ("cargo test --test acceptance", True),
        ("cargo test --offline -q", True),
        ("cargo test --test other", False),
        ("cargo test adds", False),
        ("cargo test --lib", False),
    ],
)
def test_a_file_is_surely_run_if_the_command_runs_its_target_whole(command: str, *, runs: bool) -> None:
    assert is_surely_run("tests/acceptance.rs", Suite(command, tuple(command.split()))) is runs


def test_the_tests_that_are_written_in_a_file_are_required_unless_they_are_left_out() -> None:
    text = b'#[test]\nfn a() {}\n\n#[test]\n#[ignore]\nfn b() {}\n\n#[cfg(feature = "x")]\nmod m {\n    #[test]\n    fn c() {}\n}\n'
    written = written_tests("tests/a.rs", text, "cargo")
    assert written.keys == frozenset({"a", "b", "m::c"})
    assert written.required == frozenset({"a"})


def test_a_test_program_is_the_file_of_its_name() -> None:
    tree = {
        "Cargo.toml": b'[package]\nname = "shop"\n\n[[test]]\nname = "other-name"\npath = "tests/odd/place.rs"\n',
        "crates/cart/Cargo.toml": b'[package]\nname = "cart"\n',
        "broken/Cargo.toml": b"[[[",
        "tests/acceptance-all.rs": b"",
        "tests/odd/place.rs": b"",
        "crates/cart/tests/cart/main.rs": b"",
    }
    targets = CargoTargets.of([path for path in tree if path.endswith(".rs")], tree, tree.get)
    found = {name: targets.file_of(f"{name}::inner::adds") for name in (
        "shop/acceptance_all", "shop/other_name", "cart/cart", "cart/acceptance_all", "shop/shop"
    )}  # fmt: skip
    assert found == {
        "shop/acceptance_all": "tests/acceptance-all.rs",
        "shop/other_name": "tests/odd/place.rs",
        "cart/cart": "crates/cart/tests/cart/main.rs",
        "cart/acceptance_all": "",
        "shop/shop": "",
    }
    reported = SuiteReport("cargo", "report_file", (Result("shop/acceptance_all::adds", "passed"),))
    files = ResultFiles.of(tree, targets=targets)
    assert [one.file for one in files.with_files(reported).results] == ["tests/acceptance-all.rs"]


@needs_rust
def test_changed_tests_compile_and_fail_where_the_original_ones_pass(tmp_path: Path) -> None:
    """With a real compiler that denies warnings: no change is of another type, and none holds by accident."""
    twins = [twin(WHOLE, secret) for secret in SECRETS]
    texts = {"plain": WHOLE, **{f"changed{number}": made.source for number, made in enumerate(twins)}}
    found = outcomes(
        tmp_path, b"".join(b"mod %s {\n%s}\n" % (name.encode(), text) for name, text in texts.items())
    )
    plain = {name.removeprefix("plain::") for name, end in found.items() if end == "ok"}
    assert {name.removeprefix("plain::") for name in found if name.startswith("plain::")} == plain
    for number, made in enumerate(twins):
        assert {name for name in plain if made.is_certain(name)} == plain
        assert {found[f"changed{number}::{name}"] for name in plain} == {"failed"}


def outcomes(folder: Path, text: bytes) -> dict[str, str]:
    """Test -> what its program says, without cargo."""
    (folder / "program.rs").write_bytes(text)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "RUSTC_BOOTSTRAP": "1"}
    rustc = shutil.which("rustc", path=environment["PATH"]) or shutil.which("rustc") or "rustc"
    compiled = subprocess.run(
        [rustc, "--edition", "2021", "--test", "-C", "debuginfo=0", "program.rs"],
        cwd=folder, env={**environment, "HOME": str(Path.home())}, capture_output=True, check=False,
    )  # fmt: skip
    assert compiled.returncode == 0, compiled.stderr.decode()
    done = subprocess.run(
        ["./program", "-Z", "unstable-options", "--format", "json"],
        cwd=folder, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    return {
        one["name"]: one["event"] for one in events if one["type"] == "test" and one["event"] != "started"
    }


def test_a_message_that_says_the_expected_value_says_the_other_one() -> None:
    source = b'#[test]\nfn adds() {\n    assert_eq!(sum(5, 0), 5, "5 and 0 are 5");\n}\n'
    twin = twin_rust(source, "tests/a.rs", b"secret")
    assert twin is not None
    (edit,) = twin.edits["adds"]
    assert f'assert_eq!(sum(5, 0), {edit.text}, "5 and 0 are {edit.text}");' in twin.source.decode()
