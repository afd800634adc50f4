"""Every mistake of an author is found before anything is spent, and reported in plain words with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from contract_folders import Git, Writer
from hypothesis import given
from hypothesis import strategies as st
from small_catalogue import SMALL, AllowedPaths, Command

from steelyard.contract.catalogue import Catalogue
from steelyard.contract.load import find_contracts, load_contract
from steelyard.errors import ContractFault, OperatorFault

CHECK: dict[str, Any] = {"id": "accept", "cmd": "make test"}


def oracle(*checks: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"checks": list(checks or [CHECK]), **keys}


def test_a_small_contract_loads_with_its_defaults(writer: Writer) -> None:
    writer.write()
    contract = writer.load()
    (check,) = contract.checks
    assert (contract.id, contract.brief, contract.spec.budget.wall_s) == ("demo", "Mend it.", 1800)
    assert (check.name, check.type, check.under, check.required, check.weight) == (
        "accept",
        "command",
        "acceptance",
        True,
        1.0,
    )
    assert (check.is_check, check.executes, check.mandatory, check.pass_threshold) == (True, True, True, 1.0)
    assert check.grader == Command(cmd="make test")


def test_the_folder_and_its_file_name_the_same_contract(writer: Writer) -> None:
    writer.write()
    assert load_contract(writer.folder / "contract.yaml", SMALL, writer.store) == writer.load()


# What is written -> the field, and words of the message.
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"breif": "x"}, "breif", "unknown key (did you mean brief?)"),
    ({"budget": {"wal_s": 3}}, "budget.wal_s", "unknown key (did you mean wall_s?)"),
    ({"budget": {"headroom": {"wall": 3}}}, "budget.headroom.wall", "unknown key (did you mean wall_s?)"),
    ({"zzz": 1}, "zzz", "unknown key"),
    ({"id": ...}, "id", "is missing"),
    ({"id": "a b"}, "id", "expected a name: letters, digits"),
    ({"id": 5}, "id", "expected text, got the number 5 (put it in quotes)"),
    ({"brief": ...}, "", "set exactly one of brief, brief_file"),
    ({"brief": ""}, "brief", "must not be empty"),
    ({"budget": {"tokens": "x"}}, "budget.tokens", "expected a whole number, got text 'x'"),
    ({"budget": {"tokens": 1.5}}, "budget.tokens", "expected a whole number, got the number 1.5"),
    ({"budget": {"tokens": True}}, "budget.tokens", "expected a whole number, got true"),
    ({"budget": {"wall_s": 0}}, "budget.wall_s", "must be more than 0"),
    ({"budget": {"wall_s": 1e9}}, "budget.wall_s", "must be at most 86400"),
    ({"budget": []}, "budget", "expected a mapping, got a list of 0"),
    ({"hints": "x"}, "hints", "expected a list, got text 'x'"),
    ({"reward": "most"}, "reward", "expected 'combined', 'verifier', 'quality', 'contract' or 'binary'"),
    ({"environment": {"toolchains": {"python": 3.1}}}, "environment.toolchains.python", "(put it in quotes)"),
    ({"setup_network": [8799]}, "setup_network[0]", "got the number 8799 (write host:port, like "),
    (
        {"environment": {"toolchains": {"cobol": "3"}}},
        "environment.toolchains.cobol",
        "expected 'python', 'node', 'go' or 'rust'",
    ),
    ({"environment": {"env": {"A-B": "x"}}}, "environment.env.A-B", "the name of a variable"),
    (
        {"environment": {"memory_mb": {"guaranteed": 99, "limit": 20}}},
        "environment.memory_mb",
        "below guaranteed",
    ),
    ({"setup_network": "some"}, "setup_network", "expected 'none' or 'host' or a list, got text 'some'"),
    ({"repository": {}}, "repository", "set exactly one of git, archive, tree"),
    ({"repository": {"tree": "repo", "git": "x"}}, "repository", "set exactly one of git, archive, tree"),
    ({"repository": {"git": "x"}}, "repository", "git needs the full commit id"),
    ({"repository": {"tree": "repo", "history": "full"}}, "repository", "`history: full` needs `git`"),
    ({"pass_threshold": 2}, "pass_threshold", "must be at most 1"),
    ({"oracle": {"checks": []}}, "oracle.checks", "must not be empty"),
    ({"oracle": {"checks": [CHECK, "x"]}}, "oracle.checks[1]", "expected a mapping, got text 'x'"),
    ({"oracle": oracle({"id": "a"})}, "oracle.checks[0].cmd", "is missing"),
    ({"oracle": oracle({"id": "a/b", "cmd": "x"})}, "oracle.checks[0].id", "expected a name"),
    ({"oracle": oracle({"cmd": "x", "command": "y"})}, "oracle.checks[0].command", "the same key (keep one)"),
    ({"oracle": oracle({"cmd": "x", "timeout_s": 0})}, "oracle.checks[0].timeout_s", "must be at least 1"),
    (
        {"oracle": oracle({"cmd": "x", "timeout_s": "9"})},
        "oracle.checks[0].timeout_s",
        "expected a number, got text",
    ),
    ({"oracle": oracle({"cmd": "x", "wieght": 9})}, "oracle.checks[0].wieght", "(did you mean weight?)"),
    (
        {"oracle": oracle({"cmd": "x", "timout_s": 9})},
        "oracle.checks[0].timout_s",
        "(did you mean timeout_s?)",
    ),
    ({"oracle": oracle({"cmd": "x", "name": "a"})}, "oracle.checks[0].name", "a check has an `id`"),
    ({"oracle": oracle({"cmd": "x", "required": False})}, "oracle.checks[0].required", "always required"),
    (
        {"oracle": oracle({"cmd": "x", "under": "safety"})},
        "oracle.checks[0].under",
        "'build', 'static' or 'acceptance'",
    ),
    (
        {"oracle": oracle({"cmd": "x", "inject": [5]})},
        "oracle.checks[0].inject[0]",
        "expected text or a mapping",
    ),
    (
        {"oracle": oracle({"cmd": "x", "inject": [{"src": "a"}]})},
        "oracle.checks[0].inject[0].dest",
        "is missing",
    ),
    (
        {"oracle": oracle({"type": "allowed_paths", "patterns": ["a*"]})},
        "oracle.checks[0].type",
        "runs nothing",
    ),
    ({"oracle": oracle(CHECK, CHECK)}, "oracle.checks[1].id", "two checks have the id `accept`"),
    ({"oracle": oracle({"cmd": "x", "weight": 0})}, "oracle.checks", "every weight is zero"),
    ({"oracle": oracle({"cmd": "x", "weight": -1})}, "oracle.checks[0].weight", "must be at least 0"),
    ({"graders": [{"type": "comand", "cmd": "x"}]}, "graders[0].type", "'comand' (did you mean command?)"),
    ({"graders": [{"type": "swebench"}]}, "graders[0].type", "the grader type swebench is not supported yet"),
    ({"graders": [{"type": 5}]}, "graders[0].type", "expected text"),
    ({"graders": [{"cmd": "x"}]}, "graders[0].type", "is missing"),
    ({"graders": [{"type": "implemented", "id": "x"}]}, "graders[0].id", "a grader has a `name`"),
    ({"graders": [{"type": "implemented", "layer": "unit"}]}, "graders[0].layer", "only checks"),
    ({"graders": [{"type": "implemented", "weight": 1}]}, "graders[0].weight", "a gate has no weight"),
    (
        {"graders": [{"type": "implemented", "required": False}]},
        "graders[0].required",
        "a gate is always required",
    ),
    (
        {"graders": [{"type": "implemented", "kind": "x"}]},
        "graders[0].kind",
        "expected 'any' or 'file', got text 'x'",
    ),
    (
        {"graders": [{"type": "implemented", "pass_threshold": 3}]},
        "graders[0].pass_threshold",
        "must be at most 1",
    ),
    (
        {"graders": [{"type": "implemented", "name": "accept"}]},
        "graders[0].name",
        "two entries have the name `accept`",
    ),
    (
        {"graders": [{"type": "implemented", "pass_threshold": 0.6}]},
        "graders[0].pass_threshold",
        "at 1.0 only",
    ),
    ({"build": ...}, "oracle.checks", "no check is `under: build`"),
    (
        {"oracle": oracle(CHECK, {"cmd": "x", "under": "build"})},
        "oracle.checks[1]",
        "the contract has `build: none`",
    ),
]


@pytest.mark.parametrize(
    ("keys", "field", "message"), MISTAKES, ids=[f"{m[1]}-{m[2][:20]}" for m in MISTAKES]
)
def test_a_mistake_is_reported_once_in_plain_words(
    writer: Writer, keys: dict[str, Any], field: str, message: str
) -> None:
    writer.write(**keys)
    problem = writer.problem()
    assert problem.field == field
    assert message in str(problem)
    assert problem.where.startswith(str(writer.folder / "contract.yaml"))
    for jargon in ("pydantic", "http", "Input", "validation", "tuple", "[type="):
        assert jargon not in str(problem)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(writer: Writer) -> None:
    writer.text(
        "id: 'a b'\nbrief_file: gone.md\nrepository: {tree: ../up}\nwat: 1\noracle:\n"
        "  checks: [{cmd: 5}, {cmd: x, inject: [gone.py]}]\n  mode: both\n  reference: /etc/passwd\ngraders:\n  - {type: nope}\n"
    )
    problems = writer.problems()
    assert [(problem.where.rpartition("yaml:")[2], problem.field) for problem in problems] == [
        ("1:1", "id"),
        ("2:1", "brief_file"),
        ("3:14", "repository.tree"),
        ("4:1", "wat"),
        ("6:13", "oracle.checks[0].cmd"),
        ("6:40", "oracle.checks[1].inject[0]"),
        ("7:3", "oracle.mode"),
        ("8:3", "oracle.reference"),
        ("10:6", "graders[0].type"),
    ]


def test_a_misspelt_oracle_is_reported_and_nothing_about_weights(writer: Writer) -> None:
    writer.write(oracle=..., orcale=oracle(), policy={"allowed_paths": ["src/**"]})
    assert [problem.field for problem in writer.problems()] == ["oracle", "orcale"]


ESCAPES = ["/etc/passwd", "../x", "a/../../x", "..", "a\\b", "~/x", "gone.txt"]
FILE_KEYS: list[tuple[str, Any]] = [
    ("brief_file", lambda name: {"brief": ..., "brief_file": name}),
    ("oracle.reference", lambda name: {"oracle": oracle(reference=name)}),
    ("oracle.checks[0].inject[0]", lambda name: {"oracle": oracle({"cmd": "x", "inject": [name]})}),
    ("repository.tree", lambda name: {"repository": {"tree": name}}),
    ("repository.archive", lambda name: {"repository": {"archive": name, "commit": "0" * 64}}),
]


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize(("field", "keys"), FILE_KEYS, ids=[key[0] for key in FILE_KEYS])
def test_a_file_that_is_missing_or_outside_is_refused(
    writer: Writer, field: str, keys: Any, name: str
) -> None:
    writer.write(**keys(name))
    assert writer.problem().field == field


@pytest.mark.parametrize(("field", "keys"), FILE_KEYS, ids=[key[0] for key in FILE_KEYS])
def test_a_symlink_out_of_the_folder_is_refused(
    writer: Writer, tmp_path: Path, field: str, keys: Any
) -> None:
    writer.write(**keys("link"))
    (tmp_path / "outside").mkdir()
    (writer.folder / "link").symlink_to(tmp_path / "outside")
    problem = writer.problem()
    assert problem.field == field
    assert "leads out of the contract's folder" in problem.message


@pytest.mark.parametrize(("field", "keys"), FILE_KEYS, ids=[key[0] for key in FILE_KEYS])
def test_a_symlink_that_goes_round_is_refused(writer: Writer, field: str, keys: Any) -> None:
    writer.write(**keys("a"))
    (writer.folder / "a").symlink_to("b")
    (writer.folder / "b").symlink_to("a")
    problem = writer.problem()
    assert problem.field == field
    assert "symbolic links" in problem.message


def test_a_symlink_inside_the_folder_is_followed(writer: Writer) -> None:
    writer.write({"real.patch": "x"}, oracle=oracle(reference="link.patch"))
    (writer.folder / "link.patch").symlink_to("real.patch")
    contract = writer.load()
    assert contract.reference is not None
    assert contract.reference.read_text() == "x"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff", "is not UTF-8"), (b" \n", "is empty"), (b"x" * (1 << 21), "is larger than")],
)
def test_an_unreadable_brief_is_refused(writer: Writer, content: bytes, message: str) -> None:
    writer.write({"brief.md": content}, brief=..., brief_file="brief.md")
    assert message in writer.problem().message


@pytest.mark.parametrize("tree", [".", "./", "sub/.."])
def test_a_tree_that_would_show_agents_the_contract_is_refused(writer: Writer, tree: str) -> None:
    writer.write({"sub/x": ""}, repository={"tree": tree})
    assert writer.problem().field == "repository.tree"


def test_a_tree_that_would_show_agents_the_reference_is_refused(writer: Writer) -> None:
    writer.write({"repo/fix.patch": "x"}, oracle=oracle(reference="repo/fix.patch"))
    assert "which agents must not see" in writer.problem().message


def test_a_fault_of_the_repository_has_the_line_of_its_key(writer: Writer, repository: Git) -> None:
    repository.commit({"a": "1"})
    writer.write(repository={"git": "../upstream", "commit": "0" * 40})
    problem = writer.problem()
    line = (writer.folder / "contract.yaml").read_text().splitlines().index(f"  commit: '{'0' * 40}'") + 1
    assert problem.field == "repository.commit"
    assert problem.where.endswith(f"contract.yaml:{line}:3")


def test_a_missing_contract_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ContractFault, match=r"contract\.yaml: cannot be read: No such file"):
        load_contract(tmp_path, SMALL)


def test_the_policy_is_a_required_grader_of_its_own(writer: Writer) -> None:
    writer.write(policy={"allowed_paths": ["a*"]}, graders=[{"type": "allowed_paths", "patterns": ["a.py"]}])
    policy, own = writer.load().graders
    assert (policy.name, policy.required, policy.weight) == ("policy.allowed_paths", True, 0.0)
    assert policy.grader == AllowedPaths(patterns=("a*",))
    assert own.name == "allowed_paths"


def test_the_policy_needs_its_grader_type(writer: Writer) -> None:
    writer.write(policy={"allowed_paths": ["a*"]})
    with pytest.raises(ContractFault, match=r"policy\.allowed_paths: needs the grader type"):
        load_contract(writer.folder, Catalogue({"command": Command}), writer.store)


def test_a_gate_is_required_and_carries_no_credit(writer: Writer) -> None:
    writer.write(graders=[{"type": "command", "cmd": "x", "gate": True}, {"type": "implemented"}])
    given_gate, own_gate = writer.load().graders
    assert (given_gate.gate, given_gate.required, given_gate.weight) == (True, True, 0.0)
    assert (own_gate.gate, own_gate.required, own_gate.pass_threshold) == (True, True, 1.0)


def test_a_grader_passes_at_the_threshold_of_its_type_unless_it_says_another(writer: Writer) -> None:
    graders = [
        {"type": "implemented", "gate": False},
        {"type": "implemented", "gate": False, "pass_threshold": 0.7},
    ]
    writer.write(graders=graders)
    assert [entry.pass_threshold for entry in writer.load().graders] == [0.5, 0.7]


@pytest.mark.parametrize(("name", "message"), [("hidden", "is not a file"), ("empty", "is an empty folder")])
def test_a_reference_is_a_file(writer: Writer, name: str, message: str) -> None:
    writer.write({"hidden/a": "1"}, oracle=oracle(reference=name))
    (writer.folder / "empty").mkdir()
    assert message in writer.problem().message


def test_a_grader_without_a_name_is_called_after_its_type(writer: Writer) -> None:
    graders = [
        {"type": "implemented"},
        {"type": "implemented", "name": "implemented-2"},
        {"type": "implemented"},
    ]
    writer.write(oracle=oracle({"cmd": "x"}), graders=graders)
    contract = writer.load()
    assert [entry.name for entry in contract.checks + contract.graders] == [
        "command",
        "implemented",
        "implemented-2",
        "implemented-3",
    ]


def test_command_is_another_way_to_write_cmd(writer: Writer) -> None:
    writer.write(oracle=oracle({"id": "accept", "command": "make test"}))
    other = writer.load()
    writer.write()
    assert other.digest == writer.load().digest


def test_a_fatal_doubt_is_a_fault_at_its_option(writer: Writer) -> None:
    writer.write(graders=[{"type": "allowed_paths", "patterns": ["a*", "fatal*"]}])
    problem = writer.problem()
    assert problem.field == "graders[0].patterns[1]"
    assert problem.message == "fatal* matches nothing"


def test_a_mild_doubt_is_a_warning(writer: Writer) -> None:
    writer.write(policy={"allowed_paths": ["zzz*"]})
    assert "policy.allowed_paths: zzz* matches nothing" in writer.warnings()


def test_folders_of_a_file_key_are_taken_whole(writer: Writer) -> None:
    writer.write(
        {"hidden/a.py": "1", "hidden/sub/b.py": "2"}, oracle=oracle({"cmd": "x", "inject": ["hidden"]})
    )
    (writer.folder / "hidden/sub/b.py").chmod(0o700)
    (writer.folder / "hidden/link").symlink_to("sub/b.py")
    files = writer.load().files
    assert {name: file.mode for name, file in files.items()} == {
        "hidden/a.py": "644",
        "hidden/link": "link",
        "hidden/sub/b.py": "755",
    }


@pytest.mark.parametrize("target", ["../repo", "/etc/passwd", "gone", "link"])
def test_a_symlink_in_such_a_folder_stays_inside_it(writer: Writer, target: str) -> None:
    writer.write({"hidden/a.py": "1"}, oracle=oracle({"cmd": "x", "inject": ["hidden"]}))
    (writer.folder / "hidden/link").symlink_to(target)
    assert "has a symlink that leads out of it or nowhere" in writer.problem().message


def test_contracts_are_found_in_folders_files_and_suites(tmp_path: Path) -> None:
    for name in ("suite/a", "suite/b", "suite/empty", "single"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("suite/a", "suite/b", "single"):
        (tmp_path / name / "contract.yaml").touch()
    paths = [tmp_path / "suite", tmp_path / "single/contract.yaml", tmp_path / "suite/a"]
    assert find_contracts(paths) == [tmp_path / "suite/a", tmp_path / "suite/b", tmp_path / "single"]


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_a_path_without_contracts_is_the_operators_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(OperatorFault, match=name):
        find_contracts([tmp_path / name])


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "x", "none", "repo", "command", "../x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "type", "cmd", "tree", "checks", "inject", "src", "allowed_paths", "wall_s"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KEYS = [
    "id",
    "brief",
    "brief_file",
    "repository",
    "environment",
    "oracle",
    "policy",
    "budget",
    "graders",
    "build",
    "setup",
]


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=6))
def test_no_contract_is_so_wrong_that_it_crashes_the_loader(writer: Writer, data: dict[str, Any]) -> None:
    writer.text(yaml.safe_dump(data))
    try:
        writer.load()
    except ContractFault as fault:
        assert fault.problems  # noqa: PT017  # a contract that happens to be right is fine too
