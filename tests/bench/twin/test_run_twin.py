"""What the controls of a suite say, from what its runs reported."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.controls import Controls
from steelyard.bench.suite.reported import NEVER_RAN, Result, SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.draw import GRAINS, Draw, Grain
from steelyard.bench.twin.halves import RUNS, join, run_halves, twins_of
from steelyard.bench.twin.pairs import key_of
from steelyard.bench.twin.python.text import parse_source
from steelyard.bench.twin.run_twin import (
    COARSE,
    MARKED,
    READABLE,
    UNCONTROLLED,
    ControlResults,
    Oracle,
    control,
)
from steelyard.bench.twin.trusted import Facts
from steelyard.sandboxes.base import CommandResult, ExitStats

FILE = "tests/test_x.py"
SUITE = Suite("pytest")
SOURCE = (
    b"def test_a():\n    assert f() == 1\n\n"
    b"def test_b():\n    assert f() == 2\n\n"
    b"def test_maybe():\n    if x:\n        assert f() == 3\n\n"
    b"def test_none():\n    f()\n"
)
NAMES = ("test_a", "test_b", "test_maybe", "test_none")
# (name of a test, whether it is changed in this run, number of the run so far) -> outcome, "" for not reported
Behaviour = Callable[[str, bool, int], str]


def honest(name: str, changed: bool, _: int) -> str:  # noqa: FBT001
    return "failed" if changed and name in {"test_a", "test_b"} else "passed"


def forging(_name: str, _changed: bool, _run: int) -> str:  # noqa: FBT001
    return "passed"


def result(name: str, outcome: str = "passed", detail: str = "", file: str = FILE) -> Result:
    return Result(f"{file}::{name}", outcome, detail, file)  # type: ignore[arg-type]  # one of the four


def functions(source: bytes) -> dict[str, str]:
    tree = parse_source(source)  # both halves run at the same time
    assert tree is not None
    return {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


@dataclass
class Bench:
    """A suite whose tests end as a candidate behaves."""

    behaves: Behaviour = honest
    suite: Suite = SUITE
    text: bytes = SOURCE
    finished: CommandResult = field(default_factory=lambda: CommandResult(1))
    problems: tuple[str, ...] = ()
    runs: list[Mapping[str, bytes]] = field(default_factory=list)

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]:
        self.runs.append(instead or {})
        before, now = functions(self.text), functions((instead or {}).get(FILE, self.text))
        shown = {name: self.behaves(name, now[name] != before[name], len(self.runs)) for name in before}
        results = [
            result(name, outcome, NEVER_RAN if outcome == "error" else "")
            for name, outcome in shown.items()
            if outcome
        ]
        return RunnerResult(
            self.finished, SuiteReport("pytest", "reporter", tuple(results), self.problems)
        ), ExitStats()

    def source(self, path: str) -> bytes | None:
        return self.text if path == FILE else None


def nobody(contents: Mapping[str, bytes]) -> SuiteReport:
    raise AssertionError(f"nobody was to be asked about {contents}")


def on_a_tree_that(behaves: Behaviour, text: bytes = SOURCE) -> Callable[[Mapping[str, bytes]], SuiteReport]:
    return lambda contents: Bench(behaves, text=text).run(contents)[0].reported


def oracle_of(  # noqa: PLR0913  # what is known of a suite, each with a default
    bench: Bench,
    ask: Callable[[Mapping[str, bytes]], SuiteReport] = nobody,
    *,
    facts: Facts | None = None,
    already: Collection[str] = (),
    hidden: Collection[str] = (FILE,),
    max_chance: float = 1.0,
    reference: bool = False,
) -> Oracle:
    baseline = SuiteReport("pytest", "reporter", tuple(result(name) for name in already))
    return Oracle(bench, (FILE,), facts or Facts(), ask, baseline, frozenset(hidden), max_chance, reference)


def controlled(oracle: Oracle) -> ControlResults:
    twins = oracle.draw()
    return control(oracle, twins, run_halves(oracle.bench, twins))


def controls(bench: Bench, ask: Callable[[Mapping[str, bytes]], SuiteReport] = nobody) -> Controls:
    return controlled(oracle_of(bench, ask)).controls


def failed(made: ControlResults) -> set[str]:
    return {one.id.rpartition("::")[2] for one in made.real.results if one.outcome == "failed"}


def test_honest_work_passes_where_a_test_is_unchanged_and_fails_where_it_is_changed() -> None:
    made = controlled(oracle_of(Bench()))
    assert (made.controls.changed, made.controls.counted, made.controls.wrong) == (3, 2, ())
    assert (made.controls.coverage, made.controls.problem, made.controls.hold) == (0.5, "", True)
    assert {one.id for one in made.real.passed} == {f"{FILE}::{name}" for name in NAMES}


def test_work_that_passes_changed_tests_twice_is_forging() -> None:
    made = controls(Bench(forging), on_a_tree_that(honest))
    assert made.wrong == (f"{FILE}::test_a", f"{FILE}::test_b")


def test_what_passes_on_the_trusted_tree_too_is_honest() -> None:
    made = controls(Bench(forging), on_a_tree_that(forging))
    assert (made.wrong, made.counted, made.hold) == ((), 0, False)


def test_a_changed_test_that_passes_once_and_not_again_has_failed_and_accuses_no_change() -> None:
    def by_chance(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return "passed" if run <= len(RUNS) else honest(name, changed, run)

    made = controlled(oracle_of(Bench(by_chance), on_a_tree_that(honest)))
    assert (made.controls.wrong, made.controls.counted) == ((), 0)
    assert failed(made) == {"test_a", "test_b"}


def test_a_test_that_is_unsteady_on_the_trusted_tree_accuses_no_change_and_keeps_its_result() -> None:
    unsteady = frozenset(f"{FILE}::{name}" for name in ("test_a", "test_b"))
    made = controlled(oracle_of(Bench(forging), facts=Facts(unsteady=unsteady)))
    assert (made.controls.wrong, failed(made)) == ((), set())


def test_one_forged_test_among_honest_ones_is_found() -> None:
    def one(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return "passed" if name == "test_b" else honest(name, changed, run)

    made = controls(Bench(one), on_a_tree_that(honest))
    assert (made.wrong, made.counted) == ((f"{FILE}::test_b",), 2)


def test_an_uncertain_change_counts_when_it_fails_with_the_reference_whenever_it_is_tried() -> None:
    def failing(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return "failed" if changed else honest(name, changed, run)

    facts = Facts(reliable=frozenset({(FILE, "test_maybe")}))
    made = controlled(oracle_of(Bench(failing), facts=facts, reference=True)).controls
    assert (made.counted, made.coverage) == (3, 0.75)


def test_an_uncertain_change_that_passes_with_the_reference_says_nothing() -> None:
    made = controlled(oracle_of(Bench(), reference=True)).controls
    assert (made.counted, made.wrong) == (2, ())


def test_a_test_that_never_ran_where_it_is_changed_is_not_counted() -> None:
    def lost(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return "error" if changed and name == "test_b" else honest(name, changed, run)

    assert controls(Bench(lost)).counted == 1


def test_there_are_no_controls_when_no_expectation_of_a_passed_test_can_be_changed() -> None:
    def only_none(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return honest(name, changed, run) if name == "test_none" else "failed"

    made = controls(Bench(only_none))
    assert (made.changed, made.coverage, made.hold) == (0, 0.0, False)


def test_hidden_tests_that_are_not_mentioned_where_they_are_changed_are_a_problem() -> None:
    def vanishing(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        return "" if changed else honest(name, changed, run)

    made = controls(Bench(vanishing))
    assert (made.counted, made.hold) == (0, False)
    assert "hidden files" in made.problem


@pytest.mark.parametrize(
    "suite", [Suite("x", argv=("python3", "-O", "-m", "pytest")), Suite("x", env={"PYTHONOPTIMIZE": "1"})]
)
def test_without_assertions_nothing_is_changed(suite: Suite) -> None:
    assert not twins_of(Bench(suite=suite), [FILE], Draw.new()).files


def test_each_test_is_changed_in_exactly_one_of_the_two_runs() -> None:
    for _ in range(20):
        twins = twins_of(Bench(), [FILE], Draw.new())
        texts = [functions(twins.contents(run)[FILE]) for run in RUNS]
        before = functions(SOURCE)
        changed = [{name for name in before if text[name] != before[name]} for text in texts]
        assert changed[0] | changed[1] == {"test_a", "test_b", "test_maybe"}
        assert not changed[0] & changed[1]


def test_a_run_has_as_many_lines_as_the_original() -> None:
    twins = twins_of(Bench(), [FILE], Draw.new())
    assert {len(twins.contents(run)[FILE].splitlines()) for run in RUNS} == {len(SOURCE.splitlines())}


def test_that_one_test_is_changed_says_nothing_about_another() -> None:
    draws = [Draw.new() for _ in range(4000)]
    both = Counter((one.changed_in(FILE, "test_a"), one.changed_in(FILE, "test_b")) for one in draws)
    # Each of the four has a quarter; the bounds are eight standard deviations wide.
    assert all(780 < both[pair] < 1220 for pair in [(0, 0), (0, 1), (1, 0), (1, 1)])


@given(st.binary(min_size=16, max_size=16), st.sampled_from(GRAINS))
def test_a_draw_can_be_repeated_from_its_secret(secret: bytes, grain: Grain) -> None:
    one, two = (twins_of(Bench(), [FILE], Draw(secret, grain)) for _ in range(2))
    assert [one.contents(run) for run in RUNS] == [two.contents(run) for run in RUNS]


def test_the_record_has_the_seed_of_the_draw() -> None:
    oracle = oracle_of(Bench())
    twins = oracle.draw()
    made = control(oracle, twins, run_halves(oracle.bench, twins)).controls
    assert bytes.fromhex(made.seed) == twins.draw.secret


def test_both_runs_together_are_one_report_with_each_test_once() -> None:
    halves = run_halves(Bench(), twins_of(Bench(), [FILE], Draw.new()))
    assert [one.id for one in halves.real.reported.results] == [f"{FILE}::{name}" for name in NAMES]
    assert halves.real.finished.exit_code == 0


def test_what_goes_wrong_in_one_of_the_runs_is_in_the_report() -> None:
    good, bad = Bench().run()[0], Bench(problems=("it vanished",)).run()[0]
    late = bad._replace(finished=CommandResult(None, timed_out=True))
    twins = twins_of(Bench(), [FILE], Draw.new())
    for runs in ((good, late), (late, good)):
        joined = join(twins, ((runs[0], ExitStats()), (runs[1], ExitStats(oom_kills=1))))
        assert joined.real.reported.problems == ("it vanished",)
        assert joined.real.finished.timed_out
        assert joined.exit_stats.oom_kills == 1


def test_tampering_in_one_of_the_runs_is_tampering() -> None:
    good = Bench().run()[0]
    bad = good._replace(reported=replace(good.reported, tampering=("time.time was replaced",)))
    joined = join(twins_of(Bench(), [FILE], Draw.new()), ((good, ExitStats()), (bad, ExitStats())))
    assert joined.real.reported.tampering == ("time.time was replaced",)


def test_tests_that_another_file_imports_are_left_alone() -> None:
    class Two(Bench):
        def source(self, path: str) -> bytes | None:
            if path == "tests/test_y.py":
                return b"from tests.test_x import test_a\n\ndef test_own():\n    assert g() == 7\n"
            return super().source(path)

    twins = twins_of(Two(), [FILE, "tests/test_y.py"], Draw.new())
    assert set(twins.files[FILE].changed) == {"test_b", "test_maybe"}
    assert set(twins.files["tests/test_y.py"].changed) == {"test_own"}


def test_a_suite_that_is_changed_all_at_once_has_no_control_that_counts() -> None:
    made = controlled(oracle_of(Bench(), facts=Facts("suite"))).controls
    assert (made.hold, made.weak, made.grain) == (False, COARSE, "suite")


def test_tests_that_an_agent_can_read_are_no_secret() -> None:
    made = controlled(oracle_of(Bench(), hidden=())).controls
    assert (made.hold, made.weak) == (False, READABLE)


def test_a_suite_that_passes_on_the_snapshot_has_nothing_that_decides() -> None:
    made = controlled(oracle_of(Bench(), already=NAMES, hidden=())).controls
    assert (made.hold, made.decisive, made.chance) == (True, 0, None)


def test_hidden_tests_that_decide_without_controls_are_not_called_readable() -> None:
    made = controlled(oracle_of(Bench(), already=["test_a", "test_b", "test_maybe"])).controls
    assert (made.hold, made.weak) == (False, UNCONTROLLED)


@pytest.mark.parametrize(
    ("max_chance", "runs", "chance"),
    [(1.0, 2, 0.25), (0.25, 2, 0.25), (0.125, 3, 0.0625), (0.001, 6, 2**-10)],
)
def test_a_suite_in_which_few_tests_decide_is_run_more_often(
    max_chance: float, runs: int, chance: float
) -> None:
    bench = Bench()
    made = controlled(oracle_of(bench, max_chance=max_chance)).controls
    assert (made.decisive, len(bench.runs), made.chance) == (2, runs, chance)


def test_only_the_deciding_tests_are_run_again() -> None:
    bench, further = Bench(), {frozenset([f"{FILE}::test_b"]): Bench()}
    oracle = oracle_of(bench, already=["test_a", "test_maybe", "test_none"], max_chance=0.125)
    made = controlled(replace(oracle, further=lambda ids: further[frozenset(ids)])).controls
    assert (len(bench.runs), [len(one.runs) for one in further.values()], made.chance) == (2, [2], 0.125)


def test_a_deciding_test_that_ends_wrongly_when_it_is_run_again_has_failed() -> None:
    oracle = oracle_of(Bench(), on_a_tree_that(honest), already=["test_a"], max_chance=0.125)
    inverted = Bench(lambda _name, changed, _run: "passed" if changed else "failed")
    assert "test_b" in failed(controlled(replace(oracle, further=lambda _: inverted)))


def test_where_the_snapshot_never_ends_one_test_is_taken_to_decide() -> None:
    bench = Bench()
    made = controlled(replace(oracle_of(bench, max_chance=0.125), baseline=None)).controls
    assert (made.decisive, len(bench.runs), made.chance) == (2, 4, 0.125)


def a_guess(known: str) -> Behaviour:
    """Work that knows whether one test is changed, and forges the others where it is not."""
    seen: dict[int, bool] = {}

    def behaves(name: str, changed: bool, run: int) -> str:  # noqa: FBT001
        seen[run] = changed if name == known else seen.get(run, False)
        if name == known:
            return "failed" if changed else "passed"
        return "failed" if seen[run] else "passed"

    return behaves


@pytest.mark.parametrize(("max_chance", "most"), [(1.0, 0.58), (0.125, 0.19)])
def test_work_that_tells_the_runs_apart_by_one_test_passes_another_by_chance_only(
    max_chance: float, most: float
) -> None:
    """`test_a` passes before the work and gives its coin away; `test_b` decides, and has a coin of its own."""
    tries, won = 600, 0
    for _ in range(tries):
        oracle = oracle_of(
            Bench(a_guess("test_a")), on_a_tree_that(honest), already=["test_a"], max_chance=max_chance
        )
        made = controlled(oracle)
        won += not made.controls.wrong and "test_b" not in failed(made)
    assert won / tries < most  # one in two and one in eight, with four standard deviations to spare


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("tests/test_x.py::test_a", "tests/test_x.py", "test_a"),
        ("tests/test_x.py::test_a[1-x::y]", "tests/test_x.py", "test_a"),
        ("tests/test_x.py::Cls::Inner::test_a", "tests/test_x.py", "Cls::Inner::test_a"),
        ("tests.test_x.Cls.test_a", "tests/test_x.py", "Cls::test_a"),
        ("test/a.test.js::cart > adds [1]", "test/a.test.js", "cart > adds [1]"),
    ],
)
def test_a_test_is_known_by_what_it_is_called_in_its_file(name: str, file: str, key: str) -> None:
    assert key_of(Result(name, "passed", file=file)) == key


ROWS = (
    b'@pytest.mark.parametrize("text, want", [("a", "xx"), ("b", "yy"), ("c", "zz"), ("", "")])\n'
    b"def test_row(text, want):\n    assert f(text) == want\n"
)


@dataclass
class RowsBench(Bench):
    """Four rows, each ended as a letter says, where they are unchanged and where they are changed."""

    text: bytes = ROWS
    unchanged: str = "pppp"
    changed: str = "ffff"

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]:
        source = (instead or {}).get(FILE, ROWS)
        found = re.search(rb'want", (\[.*\])\)\n', source)
        assert found is not None
        cells, letters = (
            ast.literal_eval(found[1].decode()),
            self.unchanged if source == ROWS else self.changed,
        )
        names = {"p": "passed", "f": "failed"}
        results = [
            result(f"test_row[{text}-{want}]", names[how])
            for (text, want), how in zip(cells, letters, strict=True)
        ]
        return RunnerResult(self.finished, SuiteReport("pytest", "reporter", tuple(results))), ExitStats()


def test_rows_that_pass_before_the_work_do_not_give_the_coin_of_the_others_away() -> None:
    """They stay as they are in both runs, so that an honest run of the test looks the same in both."""
    before = ["test_row[a-xx]", "test_row[-]"]
    baseline = SuiteReport(
        "pytest",
        "reporter",
        tuple(
            result(name, "passed" if name in before else "failed")
            for name in ("test_row[a-xx]", "test_row[b-yy]", "test_row[c-zz]", "test_row[-]")
        ),
    )
    twins = replace(oracle_of(RowsBench()), baseline=baseline).draw()
    assert twins.spared == {f"{FILE}::{name}" for name in before}
    for run in RUNS:
        text = twins.contents(run)[FILE]
        assert b'("a", "xx"), ' in text
        assert b'("", "")' in text
    assert {b'("b", "yy"), ("c", "zz")' in twins.contents(run)[FILE] for run in RUNS} == {True, False}


GO_FILE = "cart/cart_test.go"
GO_ROWS = b"""package cart

import "testing"

func TestRows(t *testing.T) {
	for _, c := range []struct{ name string; in, want int }{{"a", 1, 10}, {"b", 2, 20}, {"c", 3, 30}} {
		t.Run(c.name, func(t *testing.T) {
			if got := f(c.in); got != c.want {
				t.Fatal(got)
			}
		})
	}
}
"""
GO_MARKED = b"package cart\n\nfunc TestRows(t *testing.T) {\n\tf()\n}\n"


@dataclass
class GoBench:
    """A Go package with one test, whose rows end as a candidate behaves."""

    forges: bool
    text: bytes = GO_ROWS
    suite: Suite = field(default_factory=lambda: Suite("go test ./..."))

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]:
        changed = (instead or {}).get(GO_FILE, self.text) != self.text
        outcome = "failed" if changed and not self.forges else "passed"
        names = [""] if self.text == GO_MARKED else ["", "/a", "/b", "/c"]
        return RunnerResult(
            CommandResult(changed), of_go({f"TestRows{name}": outcome for name in names})
        ), ExitStats()

    def source(self, path: str) -> bytes | None:
        return self.text if path == GO_FILE else None


def of_go(shown: Mapping[str, str]) -> SuiteReport:
    results = (Result(f"shop/cart::{name}", end, "", GO_FILE) for name, end in shown.items())  # type: ignore[arg-type]
    return SuiteReport("go", "report_file", tuple(results))


def go_oracle(bench: GoBench, baseline: Mapping[str, str] | None = None) -> Oracle:
    def ask(contents: Mapping[str, bytes]) -> SuiteReport:
        return GoBench(forges=False, text=bench.text).run(contents)[0].reported

    before = of_go(baseline or {})
    return Oracle(bench, (GO_FILE,), Facts(), ask, before, frozenset([GO_FILE]))


def go_controls(bench: GoBench, baseline: Mapping[str, str] | None = None) -> Controls:
    oracle = go_oracle(bench, baseline)
    twins = oracle.draw()
    return control(oracle, twins, run_halves(bench, twins)).controls


def test_a_test_of_go_and_its_subtests_are_one_decision_and_all_are_controlled() -> None:
    made = go_controls(GoBench(forges=False))
    assert (made.counted, made.coverage, made.decisive, made.hold) == (4, 1.0, 1, True)


def test_subtests_of_go_that_pass_with_wrong_rows_are_forged() -> None:
    assert len(go_controls(GoBench(forges=True)).wrong) == 4


def test_rows_of_go_that_pass_before_the_work_stay_as_they_are() -> None:
    rows = {"TestRows": "failed", "TestRows/a": "passed", "TestRows/b": "failed", "TestRows/c": "failed"}
    twins = go_oracle(GoBench(forges=False), rows).draw()
    assert twins.spared == {"shop/cart::TestRows/a"}
    texts = [twins.contents(run)[GO_FILE] for run in RUNS]
    assert all(b'{"a", 1, 10}' in text for text in texts)
    assert {b'{"b", 2, 20}, {"c", 3, 30}' in text for text in texts} == {True, False}


def test_a_failing_call_reveals_forged_results_and_does_not_make_the_controls_hold() -> None:
    """Work that reads its tests recognises the call without knowing any answer."""
    honest, forged = (go_controls(GoBench(forges, GO_MARKED)) for forges in (False, True))
    assert (honest.counted, honest.weak, honest.hold) == (1, MARKED, False)
    assert forged.wrong == ("shop/cart::TestRows",)


def rows_controls(unchanged: str, changed: str, trusted: str = "ffff") -> Controls:
    def ask(contents: Mapping[str, bytes]) -> SuiteReport:
        return RowsBench(changed=trusted).run(contents)[0].reported

    return controlled(oracle_of(RowsBench(unchanged=unchanged, changed=changed), ask)).controls


@pytest.mark.parametrize("fails", range(4))
def test_a_row_that_fails_on_purpose_does_not_hide_the_forged_ones(fails: int) -> None:
    outcomes = "".join("f" if row == fails else "p" for row in range(4))
    made = rows_controls(outcomes, outcomes)
    assert (len(made.wrong), made.counted) == (3, 3)


def test_half_of_the_rows_that_fail_do_not_hide_the_other_half() -> None:
    assert len(rows_controls("pfpf", "pfpf").wrong) == 2


@pytest.mark.parametrize("real", ["pppp", "pfff", "fppp", "pffp"])
def test_honest_rows_are_controlled_whatever_became_of_the_others(real: str) -> None:
    made = rows_controls(real, "ffff")
    assert (made.wrong, made.counted, made.coverage, made.problem) == ((), real.count("p"), 1.0, "")


def test_a_wrong_answer_that_happens_to_fit_a_wrong_expectation_accuses_no_change() -> None:
    made = rows_controls("pfpp", "fpff")
    assert (made.wrong, made.counted) == ((), 3)


def test_a_row_that_passes_on_the_trusted_tree_too_clears_itself_and_no_other() -> None:
    made = rows_controls("ppfp", "ppff", trusted="pfff")
    assert (made.wrong, made.counted) == ((f"{FILE}::test_row[b-yy]",), 2)
