"""The twin of a Go file: every change that is called certain compiles, and makes a passing test fail."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.catalogue import has_twin, twin_of
from steelyard.bench.twin.golang.twin import twin_go
from steelyard.bench.twin.written import is_surely_run, written_tests
from steelyard.grammars import GO, parse

SECRETS = (b"drawn for this grading", b"and drawn for the next")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="no go")

HEAD = """package shop

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/shop/libs/testify/assert"
	"example.com/shop/libs/testify/require"
	"example.com/shop/libs/testify/suite"
)

var _ = []any{bytes.Equal, errors.New, fmt.Sprint, reflect.DeepEqual, strings.Contains, time.Now, assert.Equal, require.Equal, suite.Run}

type point struct{ X, Y int }

func add(a, b int) int { return a + b }

func half(n int) (int, error) {
	if n%2 != 0 {
		return 0, errors.New("an odd number")
	}
	return n / 2, nil
}

func wantSum(t *testing.T, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

var sums = []struct{ a, want int }{{1, 2}, {2, 3}}
var shared = []struct{ a, want int }{{1, 2}, {2, 3}}

func sharedAgain() int { return len(shared) }
"""
# Bodies that pass as they are, each with one assertion.
CERTAIN = {
    "number": "if got := add(2, 3); got != 5 { t.Fatal(got) }",
    "other_side": "if 5 != add(2, 3) { t.Error() }",
    "negative": "if add(1, -4) != -3 { t.FailNow() }",
    "zero": "if add(1, -1) != 0 { t.Fail() }",
    "largest_byte": "var got byte = 255; if got != 255 { t.Fatal(got) }",
    "largest_int8": "var got int8 = 127; if got != 127 { t.Fatal(got) }",
    "smallest_int8": "var got int8 = -128; if got != -128 { t.Fatal(got) }",
    "largest_uint64": "var got uint64 = 18446744073709551615; if got != 18446744073709551615 { t.Fatal(got) }",
    "smallest_int64": "var got int64 = -9223372036854775808; if got != -9223372036854775808 { t.Fatal(got) }",
    "hexadecimal": "if add(200, 55) != 0xff { t.Fatal() }",
    "octal": "if add(448, 45) != 0755 { t.Fatal() }",
    "underscores": "if add(999999, 1) != 1_000_000 { t.Fatal() }",
    "large_in_float32": "var got float32 = 16777216; if got != 16777216 { t.Fatal(got) }",
    "float": "got := 1.5; if got != 1.5 { t.Fatal(got) }",
    "float32_with_many_digits": "var got float32 = 3.1415926535; if got != 3.1415926535 { t.Fatal(got) }",
    "rune": "if 'a'+1 != 'b' { t.Fatal() }",
    "text": 'if got := strings.ToLower("ABC"); got != "abc" { t.Fatalf("got %q", got) }',
    "text_with_escapes": 'if got := "a\\n"; got != "a\\n" { t.Fatal(got) }',
    "only_escapes": 'if got := "\\n"; got != "\\n" { t.Fatal(got) }',
    "empty_text": 'if got := strings.TrimSpace(" "); got != "" { t.Fatal(got) }',
    "raw_text": "if got := strings.ToLower(`A\nB`); got != `a\nb` { t.Fatal(got) }",
    "case_folded": 'if !strings.EqualFold("ABC", "abc") { t.Fatal() }',
    "truth": "if got := add(1, 1) == 2; got != true { t.Fatal() }",
    "named": 'want := "x-y"; got := strings.Join([]string{"x", "y"}, "-"); if got != want { t.Errorf("want %q", want) }',
    "used_twice": 'want := "xy"; got := strings.TrimSpace(want + " "); if got != want { t.Fatal(got) }',
    "constant": 'const want = 3; if add(1, 2) != want { t.Fatalf("want %d", want) }',
    "slice": 'if !reflect.DeepEqual(strings.Fields("a b"), []string{"a", "b"}) { t.Fatal() }',
    "empty_slice": "got := []int{}; if !reflect.DeepEqual(got, []int{}) { t.Fatal(got) }",
    "map": 'want := map[string]int{"a": 1, "b": 2}; if !reflect.DeepEqual(map[string]int{"a": 1, "b": 2}, want) { t.Fatal() }',
    "struct": "if got := (point{1, 2}); got != (point{X: 1, Y: 2}) { t.Fatal(got) }",
    "pointer": "if !reflect.DeepEqual(&point{1, 2}, &point{X: 1, Y: 2}) { t.Fatal() }",
    "bytes": 'if !bytes.Equal([]byte("ab"), []byte("ab")) { t.Fatal() }',
    "conversion": "var got int64 = 5; if got != int64(5) { t.Fatal(got) }",
    "duration": "if got := time.Minute / 12; got != 5*time.Second { t.Fatal(got) }",
    "contains": 'if !strings.Contains("one big tree", "big tree") { t.Fatal() }',
    "prefix": 'if !strings.HasPrefix("tree", "tr") { t.Fatal() }',
    "message": 'if _, err := half(3); err == nil || err.Error() != "an odd number" { t.Fatal(err) }',
    "no_error": "_, err := half(4); if err != nil { t.Fatal(err) }",
    "some_error": '_, err := half(3); if err == nil { t.Fatal("no error") }',
    "both": 'got, err := half(4); if err != nil || got != 2 { t.Fatalf("%v %v", got, err) }',
    "neither": "if got := add(1, 1); got < 2 && got > 2 { t.Fatal(got) }",
    "else": "if got := add(1, 1); got == 2 { t.Log(got) } else { t.Fatal(got) }",
    "else_if": "if got, err := half(4); err != nil { t.Fatal(err) } else if got != 2 { t.Fatal(got) }",
    "names": "one, two := add(1, 2), add(2, 1); if one != two { t.Fatal(one) }",
    "counting": "for i := 0; i < 3; i++ { if add(i, 0) != i { t.Fatal(i) } }",
    "written_list": "for _, n := range []int{1, 2} { if add(n, 0) != n { t.Fatal(n) } }",
    "table": 'for _, c := range []struct{ a, b, want int }{{1, 2, 3}, {2, 2, 4}} { if got := add(c.a, c.b); got != c.want { t.Errorf("%d", c.want) } }',
    "named_table": "cases := []struct{ a, want int }{{a: 1, want: 2}, {a: -1}}\nfor _, c := range cases { if add(c.a, 1) != c.want { t.Error(c.want) } }",
    "table_of_a_type": 'type row struct{ in, out string }\nfor _, c := range []row{{"A", "a"}, {in: ""}} { if strings.ToLower(c.in) != c.out { t.Error() } }',
    "map_of_values": 'for in, want := range map[string]string{"A": "a", "BC": "bc"} { if got := strings.ToLower(in); got != want { t.Error(got) } }',
    "pairs": 'for _, c := range [][2]string{{"A", "a"}, {"B", "b"}} { if strings.ToLower(c[0]) != c[1] { t.Error() } }',
    "table_of_the_file": "for _, c := range sums { if add(c.a, 1) != c.want { t.Error() } }",
    "table_of_two_places": "for _, c := range shared { if add(c.a, 1) != c.want { t.Error() } }",
    "wanted_errors": "for _, c := range []struct{ n, want int; wantErr bool }{{n: 4, want: 2}, {n: 3, wantErr: true}} {\n"
    "got, err := half(c.n); if (err != nil) != c.wantErr { t.Fatal(err) }; if c.wantErr { continue }; if got != c.want { t.Error(got) } }",
    "rows_that_return_early": "for _, c := range []struct{ n, want int; fails bool }{{4, 2, false}, {3, 0, true}} {\n"
    "got, err := half(c.n); if c.fails { if err == nil { t.Error() }; continue }; if got != c.want { t.Error(got) } }",
    "skipped_elsewhere": 'if add(1, 1) == 3 { t.Skip("never here") }\nif testing.Short() { t.Skip(); return }\nif add(1, 2) != 3 { t.Fatal() }',
    "helper": "wantSum(t, add(1, 2), 3)",
    "deferred": 'defer func() { if recover() == nil { t.Error("no panic") } }(); var m map[string]int; m["a"] = 1',
    "testify": "assert.Equal(t, 3, add(1, 2))",
    "testify_other_order": 'assert.Equal(t, add(1, 2), 3, "a message")',
    "testify_table": "for _, c := range []struct{ a, want int }{{1, 2}, {2, 3}} { assert.Equal(t, c.want, add(c.a, 1)) }",
    "testify_no_error": "_, err := half(4); require.NoError(t, err)",
    "testify_true": "assert.True(t, add(1, 1) == 2)",
    "testify_new": "check := assert.New(t); check.Equal(3, add(1, 2))",
    "not_a_comparison": "_ = add(1, 2)",
}
SUBTESTS = """
func TestStatic(t *testing.T) {
	t.Run("small numbers", func(t *testing.T) {
		if add(1, 2) != 3 {
			t.Fatal()
		}
	})
	t.Run("large", func(t *testing.T) {
		if add(100, 20) != 120 {
			t.Fatal()
		}
	})
}

func TestRows(t *testing.T) {
	tests := []struct {
		name    string
		n, want int
		wantErr bool
	}{
		{"even", 4, 2, false},
		{name: "odd number", n: 3, wantErr: true},
		{name: "zero"},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := half(tt.n)
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v", err)
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestEachKind(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			if got := strings.ToUpper(name); got == name {
				t.Fatal(got)
			}
		})
	}
}

type Numbers struct{ suite.Suite }

func (s *Numbers) TestSum()  { s.Equal(3, add(1, 2)) }
func (s *Numbers) TestHalf() { _, err := half(4); s.Require().NoError(err) }

func TestSuite(t *testing.T) { suite.Run(t, new(Numbers)) }

func ExampleAdd() {
	fmt.Println("sum:", add(1, 2))
	// Output: sum: 3
}

func FuzzAdd(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {
		if add(n, 0) != n {
			t.Fatal(n)
		}
	})
}
"""
# As much of testify as the tests above use.
TESTIFY = """package NAME

import (
	"reflect"
	"testing"
)

type Assertions struct{ t *testing.T }

func New(t *testing.T) *Assertions { return &Assertions{t} }

func check(t *testing.T, ok bool) bool {
	if !ok {
		t.Error("no")
	}
	return ok
}

func Equal(t *testing.T, a, b any, _ ...any) bool    { return check(t, reflect.DeepEqual(a, b)) }
func NotEqual(t *testing.T, a, b any, _ ...any) bool { return check(t, !reflect.DeepEqual(a, b)) }
func True(t *testing.T, a bool, _ ...any) bool       { return check(t, a) }
func False(t *testing.T, a bool, _ ...any) bool      { return check(t, !a) }
func NoError(t *testing.T, err error, _ ...any) bool { return check(t, err == nil) }
func Error(t *testing.T, err error, _ ...any) bool   { return check(t, err != nil) }

func (a *Assertions) Equal(x, y any, _ ...any) bool    { return Equal(a.t, x, y) }
func (a *Assertions) NoError(err error, _ ...any) bool { return NoError(a.t, err) }
func (a *Assertions) Error(err error, _ ...any) bool   { return Error(a.t, err) }
"""
SUITES = """package suite

import (
	"reflect"
	"strings"
	"testing"

	"example.com/shop/libs/testify/assert"
)

type Suite struct{ *assert.Assertions }

func (s *Suite) Require() *assert.Assertions { return s.Assertions }
func (s *Suite) set(t *testing.T)            { s.Assertions = assert.New(t) }

func Run(t *testing.T, s interface{ set(*testing.T) }) {
	for i := 0; i < reflect.TypeOf(s).NumMethod(); i++ {
		if method := reflect.TypeOf(s).Method(i); strings.HasPrefix(method.Name, "Test") {
			t.Run(method.Name, func(t *testing.T) {
				s.set(t)
				method.Func.Call([]reflect.Value{reflect.ValueOf(s)})
			})
		}
	}
}
"""


def function_name(case: str) -> str:
    return "Test" + case.title().replace("_", "")


def source(bodies: Mapping[str, str]) -> bytes:
    tests = "".join(
        f"\nfunc {function_name(case)}(t *testing.T) {{\n{body}\n}}\n" for case, body in bodies.items()
    )
    return (HEAD + tests).encode()


def twin(text: str | bytes, secret: bytes = SECRETS[0]) -> Twin:
    made = twin_go(text.encode() if isinstance(text, str) else text, "a_test.go", secret)
    assert made is not None
    return made


WHOLE = source(CERTAIN) + SUBTESTS.encode()
MARKED = {"TestNotAComparison", "FuzzAdd"}


def test_every_body_is_certain_to_fail_when_it_is_changed() -> None:
    made = twin(WHOLE)
    assert {function_name(case): True for case in CERTAIN}.items() <= made.changed.items()


def test_a_failing_call_is_added_only_where_nothing_can_be_changed() -> None:
    edits = twin(WHOLE).edits
    assert {unit for unit, some in edits.items() if any(".Fail()" in one.text for one in some)} == MARKED
    assert twin(WHOLE).text(["FuzzAdd"]).count(b"{ f.Fail();") == 1


def test_a_failing_call_the_opposite_of_an_equality_and_a_value_in_the_name_are_marked() -> None:
    opposites = {"TestCounting", "TestNames", "TestTableOfTwoPlaces", "TestWrittenList"}
    assert twin(WHOLE).marked == MARKED | opposites | {"TestZero"}


def test_expected_values_are_changed_and_not_inputs() -> None:
    text = twin(source({"table": CERTAIN["table"]})).source
    assert b"{1, 2, " in text
    assert b"{2, 2, " in text
    assert b"{1, 2, 3}" not in text
    assert b"{2, 2, 4}" not in text


@given(secret=st.binary(min_size=8, max_size=8), chosen=st.sets(st.sampled_from(sorted(CERTAIN))))
def test_any_choice_of_changes_parses_and_keeps_the_lines(secret: bytes, chosen: set[str]) -> None:
    text = twin(WHOLE, secret).text([function_name(case) for case in chosen])
    assert parse(text, GO) is not None
    assert text.count(b"\n") == WHOLE.count(b"\n")


def test_the_draw_decides_what_is_changed() -> None:
    texts = {twin(WHOLE, bytes([number]) * 16).source for number in range(8)}
    assert len(texts) > 1
    assert twin(WHOLE).source == twin(WHOLE).source


def test_a_subtest_belongs_to_the_unit_of_its_test() -> None:
    made = twin(WHOLE)
    assert made.unit("TestRows/even") == "TestRows"
    assert made.is_certain("TestStatic/small_numbers")
    assert made.is_certain("TestRows/odd_number")  # by the row of the table
    assert made.is_certain("TestSuite/TestSum")
    assert made.is_certain("TestAdd/unknown") is None


def test_a_table_of_which_a_row_cannot_be_changed_controls_the_test_and_not_its_subtests() -> None:
    made = twin(
        HEAD
        + '\nfunc TestX(t *testing.T) {\n\tfor _, c := range []struct{ n string; v, want any }{{"a", 1, 1}, {"b", nil, nil}} {\n'
        "\t\tt.Run(c.n, func(t *testing.T) {\n\t\t\tif c.v != c.want {\n\t\t\t\tt.Fatal()\n\t\t\t}\n\t\t})\n\t}\n}\n"
    )
    assert made.is_certain("TestX")
    assert made.is_certain("TestX/a") is None


@pytest.mark.parametrize(
    "body",
    [
        "if testing.Short() { return }\nif add(1, 2) != 3 { t.Fatal() }",
        "for _, n := range numbers() { if add(n, 0) != 3 { t.Fatal() } }",
        't.Run("a", func(t *testing.T) { if x() { t.Skip() }; if add(1, 2) != 3 { t.Fatal() } })',
        "if x() { if add(1, 2) != 3 { t.Fatal() } }",
        "if elapsed > limit { t.Fatal() }",
        "defer func() { recover() }()\nif add(1, 2) != 3 { t.Error() }\nt.Error()",
        "for _, c := range []struct{ skip bool; n int }{{skip: true}} { if c.skip { continue }; if add(1, c.n) != 3 { t.Fatal() } }",
    ],
)
def test_what_a_passing_test_may_not_reach_is_not_called_certain(body: str) -> None:
    """Such a test gets the failing call instead: that one is certain."""
    made = twin(source({"x": body}))
    assert made.marked == {"TestX"}


@pytest.mark.parametrize(
    "body",
    [
        "got /= 10; want /= 10\n\tif got != want { t.Fatal() }",
        "got, want = got%10, want%10\n\tif got != want { t.Fatal() }",
        "if got, want := got/10, want/10; got != want { t.Fatal() }",
    ],
)
def test_a_helper_that_compares_something_else_than_its_arguments_makes_no_change_certain(body: str) -> None:
    """`3 -> 4` would pass where only tens are compared, and honest work would look forged."""
    helper = f"\nfunc sameTens(t *testing.T, got, want int) {{\n\t{body}\n}}\n"
    assert twin(source({"x": "sameTens(t, add(1, 2), 3)"}) + helper.encode()).marked == {"TestX"}


def test_an_opposite_whose_message_would_panic_is_not_used() -> None:
    """`t.Fatal(err.Error())` where err is nil ends all tests of the package."""
    body = "_, err := half(4); if err != nil { t.Fatal(err.Error()) }"
    assert b"err == nil" not in twin(source({"x": body})).source.partition(b"func TestX")[2]


@pytest.mark.parametrize("message", ["numbers[i]", "*got", "err.Error()"])
def test_the_opposite_of_two_conditions_is_not_used_where_the_message_may_panic(message: str) -> None:
    body = f"got, err := half(4); if err != nil && got == nil {{ t.Fatal({message}) }}"
    assert twin(source({"x": body})).marked == {"TestX"}


def test_a_row_that_is_an_input_as_a_whole_is_not_changed() -> None:
    body = "for _, c := range []point{{1, 2}, {3, 4}} { if got := c.swap(); got.X != c.Y { t.Fatal() } }"
    text = twin(source({"x": body})).source
    assert b"{{1, 2}, {3, 4}}" in text


def test_an_argument_that_a_helper_uses_for_more_than_comparing_is_not_changed() -> None:
    helper = b"\nfunc check(t *testing.T, n int) { if add(n, 0) != n { t.Fatal(n) } }\n"
    assert twin(source({"x": "check(t, 3)"}) + helper).marked == {"TestX"}


def test_a_column_that_decides_what_is_compared_before_is_not_changed() -> None:
    rows = "[]struct{ want *point; ok bool }{{nil, false}}"
    body = f"for _, c := range {rows} {{ if c.ok && got != *c.want {{ t.Error() }}; if (err == nil) != c.ok {{ t.Fatal() }} }}"
    assert rows.encode() in twin(source({"x": body})).source


def test_subtests_that_another_function_of_the_file_runs_are_not_called_certain() -> None:
    """Which subtests it makes is not known, so not every subtest is a row of the table."""
    rows = 'for _, c := range []struct{ n string; want int }{{"a", 3}} { t.Run(c.n, func(t *testing.T) { if add(1, 2) != c.want { t.Fatal("...") } }) }'
    helper = '\nfunc more(t *testing.T) { t.Run("x", func(t *testing.T) {}) }\n'
    alone, beside = twin(source({"x": rows})), twin(source({"x": f"{rows}\nmore(t)"}) + helper.encode())
    assert (alone.is_certain("TestX/a"), beside.is_certain("TestX/a")) == (True, None)
    assert beside.is_certain("TestX")


def test_what_is_no_test_is_left_alone() -> None:
    text = (
        HEAD
        + "\nfunc TestMain(m *testing.M) { m.Run() }\nfunc Testify(t *testing.T) { if add(1, 2) != 3 { t.Fatal() } }\n"
    )
    assert twin_go(text.encode(), "a_test.go", SECRETS[0]) is None


@pytest.mark.parametrize(
    "text", [b"", b"package p\n\nfunc TestX(t *testing.T) {", b"\xff\xfe", b"{" * 20_000]
)
def test_a_file_that_cannot_be_read_has_no_twin(text: bytes) -> None:
    assert twin_go(text, "a_test.go", SECRETS[0]) is None


@pytest.mark.parametrize(
    ("path", "command", "has_one"),
    [
        ("cart/cart_test.go", "go test ./...", True),
        ("cart/cart_test.go", "cd cart && go test", True),
        ("cart/cart_test.go", "gotestsum -- ./...", True),
        ("cart/cart.go", "go test ./...", False),
        ("cart/cart_test.go", "npx jest", False),
    ],
)
def test_test_files_have_a_twin_where_the_command_runs_go(path: str, command: str, *, has_one: bool) -> None:
    assert has_twin(path, Suite(command)) is has_one
    assert (twin_of(path, WHOLE, SECRETS[0]) is not None) is path.endswith("_test.go")


def test_the_tests_that_are_written_in_a_file_are_required() -> None:
    written = written_tests("cart/cart_test.go", WHOLE, "go")
    assert {"TestNumber", "TestSuite", "ExampleAdd", "FuzzAdd"} <= written.required
    assert written.has("TestRows/even")
    assert not written.has("TestInvented/even")


@pytest.mark.parametrize(
    ("path", "head"),
    [("cart/cart_test.go", b"//go:build integration\n\n"), ("cart/cart_windows_test.go", b"")],
)
def test_tests_for_some_systems_only_are_not_required(path: str, head: bytes) -> None:
    assert written_tests(path, head + WHOLE, "go").required == frozenset()


@pytest.mark.parametrize(
    ("command", "path", "runs"),
    [
        ("go test ./...", "cart/cart_test.go", True),
        ("go test ./cart/...", "cart/deep/cart_test.go", True),
        ("go test ./cart", "cart/cart_test.go", True),
        ("go test", "cart_test.go", True),
        ("go test -count=1 -v ./cart/", "cart/cart_test.go", True),
        ("go test ./cart", "cart/deep/cart_test.go", False),
        ("go test ./other/...", "cart/cart_test.go", False),
        ("go test -run TestAdd ./...", "cart/cart_test.go", False),
        ("go test -tags integration ./...", "cart/cart_test.go", False),
    ],
)
def test_a_file_is_surely_run_if_the_command_names_its_package_and_leaves_nothing_out(
    command: str, path: str, *, runs: bool
) -> None:
    assert is_surely_run(path, Suite(command, tuple(command.split()))) is runs


@needs_go
def test_changed_tests_compile_and_fail_where_the_original_ones_pass(tmp_path: Path) -> None:
    """With a real compiler: nothing in the file is of another type, and no change holds by accident."""
    twins = [twin(WHOLE, secret) for secret in SECRETS]
    texts = {"plain": WHOLE, **{f"changed{number}": made.source for number, made in enumerate(twins)}}
    (tmp_path / "go.mod").write_text("module example.com/shop\n\ngo 1.18\n")
    for name in ("assert", "require"):
        (tmp_path / "libs/testify" / name).mkdir(parents=True)
        (tmp_path / "libs/testify" / name / "lib.go").write_text(TESTIFY.replace("NAME", name))
    (tmp_path / "libs/testify/suite").mkdir()
    (tmp_path / "libs/testify/suite/lib.go").write_text(SUITES)
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop_test.go").write_bytes(text)
    found = outcomes(tmp_path)
    assert found["plain"]
    assert set(found["plain"].values()) == {"pass"}
    assert {"TestRows/odd_number", "TestStatic/small_numbers", "TestSuite/TestHalf"} <= found["plain"].keys()
    for number, made in enumerate(twins):
        certain = {name for name in found["plain"] if made.is_certain(name)}
        changed = found[f"changed{number}"]
        assert {name: changed.get(name) for name in certain if changed.get(name) != "fail"} == {}
        assert found["plain"].keys() - certain == {"FuzzAdd/seed#0"}


def outcomes(module: Path) -> dict[str, dict[str, str]]:
    """Package -> test -> what `go test` says."""
    command = ["go", "test", "-json", "-count=1", "./..."]
    environment = {
        "PATH": "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(module),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "CGO_ENABLED": "0",
    }
    done = subprocess.run(command, cwd=module, env=environment, capture_output=True, check=False)
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("Test") and event["Action"] in {"pass", "fail", "skip"}:
            package = event["Package"].rpartition("/")[2]
            found.setdefault(package, {})[event["Test"]] = event["Action"]
    assert found, done.stderr.decode()
    return found


def test_a_message_that_says_the_expected_value_says_the_other_one() -> None:
    source = (
        b'package a\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif got := Sum(5, 0); got != 5 {\n'
        b'\t\tt.Fatalf("Sum(5, 0) = %d, want 5", got)\n\t}\n}\n'
    )
    twin = twin_go(source, "a_test.go", b"secret")
    assert twin is not None
    (edit,) = twin.edits["TestSum"]
    assert f"got != {edit.text} {{" in twin.source.decode()
    assert f'"Sum(5, 0) = %d, want {edit.text}"' in twin.source.decode()
