"""What a verifier's files come to: which rewards are believed, and what is said of the others."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.verifier.reward_files import MAX_ARTIFACT_BYTES, Artifacts, RewardFiles, read_artifacts


def reward_of(text: str) -> RewardFiles:
    return read_artifacts(Artifacts(reward_json=text.encode()))


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ('{"reward": 0.93}', 0.93),
        ('{"reward": 1}', 1.0),
        ('{"reward": 0, "speed": 7}', 0.0),
        ('{"accuracy": 0.5}', 0.5),
        ('{"correct": 1, "style": 0.5, "tests": 0}', 0.5),
    ],
)
def test_a_number_between_zero_and_one_is_the_reward(text: str, reward: float) -> None:
    numbers = json.loads(text)
    assert reward_of(text) == RewardFiles(completed=True, reward=reward, rewards=numbers)


def test_of_what_stands_beside_the_reward_only_numbers_are_kept() -> None:
    text = '{"reward": 1, "speed": 7.5, "ok": true, "why": "x", "big": 1e300, "\\u202e": 1}'
    assert reward_of(text).rewards == {"reward": 1, "speed": 7.5}


@pytest.mark.parametrize(
    "text",
    [
        *('{"reward": true}', '{"reward": "0.9"}', '{"reward": null}', '{"reward": [1]}', '{"reward": NaN}'),
        *('{"reward": 1.0000001}', '{"reward": -0.1}', '{"reward": 1e999}', '{"reward": Infinity}'),
        *('{"reward": 1e400}', '{"reward": 1' + "0" * 400 + "}", '{"\\ud800": true}'),
        *(
            "{}",
            "[]",
            "0.9",
            "null",
            "",
            "{",
            '{"a": 0.1, "b": 2}',
            '{"a": 1, "b": "x"}',
            "[" * 100_000,
            '{"reward": 0.5} x',
        ),
    ],
)
def test_anything_else_is_no_reward_and_the_reason_is_said(text: str) -> None:
    verified = reward_of(text)
    assert (verified.completed, verified.reward) == (False, None)
    assert verified.errors[0].startswith(("reward.json", "`"))


def test_no_file_is_no_reward() -> None:
    assert read_artifacts(Artifacts()).errors == ("the verifier wrote no reward",)


def test_a_text_file_holds_the_reward_where_there_is_no_json() -> None:
    assert read_artifacts(Artifacts(reward_txt=b" 0.25\n")).reward == 0.25


@pytest.mark.parametrize(
    "text", [b"", b"one", b"nan", b"2", "½".encode(), b"0.5 0.6", b"0_1", b" " * MAX_ARTIFACT_BYTES + b"1"]
)
def test_a_text_file_that_is_no_number_is_no_reward(text: bytes) -> None:
    assert read_artifacts(Artifacts(reward_txt=text)).reward is None


def test_two_files_that_disagree_are_no_reward() -> None:
    assert read_artifacts(Artifacts(b'{"reward": 1}', b"0")).errors == (
        "reward.json and reward.txt disagree",
    )


def test_two_files_that_agree_are_one_reward() -> None:
    assert read_artifacts(Artifacts(b'{"reward": 0.5}', b"0.5")).reward == 0.5


def test_a_broken_reward_json_is_not_saved_by_a_text_file() -> None:
    assert read_artifacts(Artifacts(reward_json=b"{", reward_txt=b"1")).reward is None


def test_details_are_kept_as_written_and_do_not_change_the_reward() -> None:
    verified = read_artifacts(Artifacts(b'{"reward": 0.1}', details=b'{"a": {"score": 1.0}}'))
    assert (verified.reward, verified.breakdown) == (0.1, {"a": {"score": 1.0}})


def test_broken_details_leave_the_reward_alone() -> None:
    verified = read_artifacts(Artifacts(b'{"reward": 0.1}', details=b"[1"))
    assert (verified.completed, verified.reward, verified.breakdown) == (True, 0.1, None)
    assert "details.json" in verified.errors[0]


@pytest.mark.parametrize(
    "details",
    [
        *('{"a": "\\ud800"}', '{"\\ud800": 1}', '{"a": NaN}', '{"a": 1e400}', '{"a": 1' + "0" * 30 + "}"),
        *('{"a": ' * 100 + "1" + "}" * 100, '{"a": ' * 900 + "1" + "}" * 900, "[1]", '"text"', "\xff"),
    ],
)
def test_details_that_no_record_could_hold_are_reported_and_left_out(details: str) -> None:
    verified = read_artifacts(Artifacts(b'{"reward": 1}', details=details.encode("latin-1")))
    assert (verified.reward, verified.breakdown) == (1.0, None)
    assert verified.errors[0].startswith("details.json")


def test_errors_json_becomes_tags() -> None:
    rows = [{"category": "unit mismatch", "description": "mm"}, {"category": "parsing"}]
    verified = read_artifacts(Artifacts(b'{"reward": 0}', errors=json.dumps(rows).encode()))
    assert [tuple(tag) for tag in verified.tags] == [("unit mismatch", "mm"), ("parsing", None)]


def test_a_file_that_is_too_large_is_not_read() -> None:
    assert "larger than" in reward_of(" " * MAX_ARTIFACT_BYTES + '{"reward": 1}').errors[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
)


@given(JSON, JSON, JSON)
def test_whatever_json_a_verifier_writes_can_be_recorded(reward: Any, details: Any, errors: Any) -> None:
    files = [json.dumps(one).encode() for one in ({"reward": reward}, details, errors)]
    verified = read_artifacts(Artifacts(files[0], None, files[1], files[2]))
    assert RewardFiles.from_json(orjson.loads(orjson.dumps(verified.to_json()))) == verified


FILES = st.tuples(*(st.none() | st.binary(max_size=200) for _ in range(4)))


@given(FILES)
def test_no_bytes_raise_and_a_reward_is_always_in_range(files: tuple[bytes | None, ...]) -> None:
    verified = read_artifacts(Artifacts(*files))
    assert verified.reward is None or 0 <= verified.reward <= 1
    assert verified.completed == (verified.reward is not None)


@given(st.floats(0, 1), st.dictionaries(st.text(), st.integers(), max_size=3))
def test_what_was_read_survives_the_record(reward: float, details: dict[str, int]) -> None:
    verified = read_artifacts(
        Artifacts(json.dumps({"reward": reward}).encode(), details=json.dumps(details).encode())
    )
    assert RewardFiles.from_json(json.loads(json.dumps(verified.to_json()))) == verified
