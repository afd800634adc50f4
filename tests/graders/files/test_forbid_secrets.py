"""A tripwire for secrets that never says what it found.

The secrets here are made at run time from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import BinaryIO

import pytest
from cases import case, link
from changes import edited
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.graders.files.forbid_secrets import (
    FILE_BYTES,
    MOST_COMPARED,
    MOST_FINDINGS,
    ForbidSecrets,
)
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, decide

DICE = random.Random(7)
WORDS = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = WORDS) -> str:
    return "".join(DICE.choice(alphabet) for _ in range(length))


def web_token() -> str:
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "HS256"}, {"sub": "u-1"})
    ]
    return ".".join([*parts, drawn(43)])


# kind -> (a line, the secret in it)
SECRETS = {
    "AWS access key": ("key = {}", "AKIA" + drawn(16, string.ascii_uppercase + "234567")),
    "AWS secret key": ("aws_secret_access_key = {}", drawn(40)),
    "GitHub token": ('TOKEN = "{}"', "ghp_" + drawn(36)),
    "GitLab token": ("curl -H 'PRIVATE-TOKEN: {}'", "glpat-" + drawn(20)),
    "Slack token": ("bot({})", "xoxb-" + drawn(30)),
    "Slack webhook": (
        "https://{}",
        "hooks.slack.com/services/T" + drawn(9) + "/B" + drawn(9) + "/" + drawn(24),
    ),
    "Stripe key": ("stripe.key = '{}'", "sk_live_" + drawn(24)),
    "Google key": ("maps({})", "AIza" + drawn(35)),
    "npm token": ("//registry/:_authToken={}", "npm_" + drawn(36)),
    "PyPI token": ("password: {}", "pypi-AgE" + drawn(80)),
    "model provider key": ("OPENAI_API_KEY={}", "sk-proj-" + drawn(40)),
    "model hub token": ("login({})", "hf_" + drawn(34)),
    "SendGrid key": ("{}", "SG." + drawn(22) + "." + drawn(43)),
    "Telegram token": ("bot{}", drawn(10, string.digits) + ":AA" + drawn(33)),
    "Azure key": ("{}", "AccountKey=" + drawn(86) + "=="),
    "signed web token": ("Authorization: Bearer {}", web_token()),
    "password in a URL": ("postgres://app:{}@db.internal/app", drawn(14)),
    "private key": ("-----BEGIN RSA PRIVATE " + "KEY-----\n{}\n", drawn(64)),
    "value named as a secret": ('DB_PASSWORD = "{}"', drawn(24)),
}
HONEST = [
    'digest = "sha256:' + drawn(64, "0123456789abcdef") + '"',
    '"integrity": "sha512-' + drawn(86) + '=="',
    'id = "550e8400-e29b-41d4-a716-446655440000"',
    'client_secret = "550e8400-e29b-41d4-a716-446655440000"',
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    'token = "ghp_' + "x" * 36 + '"',
    'password = "hunter2"',
    'password = "correct-horse-battery-staple"',
    'password = os.environ["DB_PASSWORD_PRODUCTION_1"]',
    "api_key = settings.integrations.payment.api_key_v2",
    'secret = "${VAULT_SECRET_PATH_1234}"',
    "postgres://user:password@localhost/db",
    "https://example.org/a:b@c",
    'API_KEY = "your-api-key-goes-here-123"',
    'password_hash = "' + drawn(40) + '"',
    "-----BEGIN CERTIFICATE-----\n" + drawn(64),
    'if line.startswith("-----BEGIN RSA PRIVATE ' + 'KEY-----"):',
    "commit = " + drawn(40, "0123456789abcdef"),
    "sk-" + "learn-extra-things",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_an_added_secret_is_seen_by_kind_and_place(kind: str, tmp_path: Path) -> None:
    line, secret = SECRETS[kind]
    grade = ForbidSecrets().grade(
        edited(tmp_path, {"a.txt": "one\n"}, {"a.txt": f"one\n{line.format(secret)}\n"})
    )
    assert (grade.outcome, grade.score) == ("fail", 0.0)
    assert kind in {finding.why.removeprefix("looks like a secret: ") for finding in grade.findings}
    assert all(finding.where.startswith("a.txt:") for finding in grade.findings)


def spoken(grade: Grade) -> str:
    """Everything that a grade and its verdict say, wherever it is stored or printed."""
    entry = GraderEntry("it", "forbid_secrets", ForbidSecrets(), under="safety", required=True, weight=0.0)
    verdict = decide(
        GradedRun([WeightedGrade(entry, grade)], grade.findings, Status("scorable"), "completed"), Rule()
    )
    return repr(astuple(grade)) + repr(WeightedGrade(entry, grade).to_json()) + repr(verdict.to_json())


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_never_repeated(kind: str, tmp_path: Path) -> None:
    line, secret = SECRETS[kind]
    changed = edited(
        tmp_path, {}, {"a.txt": line.format(secret), f"dir/{secret.replace('/', '-')[:60]}": "x"}
    )
    result = spoken(ForbidSecrets().grade(changed))
    assert secret not in result
    assert secret[8:24] not in result or kind in (
        "Azure key",
        "Slack webhook",
        "password in a URL",
        "AWS secret key",
    )


@pytest.mark.parametrize("kind", SECRETS)
def test_the_text_of_a_secret_is_in_no_field(kind: str, tmp_path: Path) -> None:
    line, secret = SECRETS[kind]
    result = spoken(ForbidSecrets().grade(edited(tmp_path, {}, {"a.txt": line.format(secret)})))
    assert not [secret[at : at + 12] for at in range(len(secret) - 12) if secret[at : at + 12] in result]


@pytest.mark.parametrize("line", HONEST)
def test_honest_text_is_not_taken_for_a_secret(line: str, tmp_path: Path) -> None:
    assert ForbidSecrets().grade(edited(tmp_path, {}, {"a.txt": f"{line}\n"})).outcome == "pass"


LINE, SECRET = SECRETS["GitHub token"]
LEAK = LINE.format(SECRET)


def test_a_secret_that_was_there_before_is_not_the_agents(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"a.txt": f"{LEAK}\n"}, {"a.txt": f"{LEAK}\nmore\n"})
    assert ForbidSecrets().grade(changed).outcome == "pass"


def test_a_renamed_file_adds_nothing(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"a.txt": LEAK}, {"b.txt": LEAK}, renames={"b.txt": "a.txt"})
    assert ForbidSecrets().grade(changed).outcome == "pass"


def test_a_moved_line_adds_nothing(tmp_path: Path) -> None:
    changed = edited(
        tmp_path, {"a.txt": f"x\n{LEAK}\n", "b.txt": "y\n"}, {"a.txt": "x\n", "b.txt": f"y\n  {LEAK}\n"}
    )
    assert ForbidSecrets().grade(changed).outcome == "pass"


class CountingBlobs(Blobs):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened = Counter[str]()

    def open(self, sha256: str) -> BinaryIO:
        self.opened[sha256] += 1
        return super().open(sha256)


def test_many_secrets_are_found_without_reading_the_files_as_they_were_for_each(tmp_path: Path) -> None:
    """A change of 20,000 made-up keys must not hold up its grading: each old file is read at most twice."""
    text = "\n".join(f"ghp_{number:036}" for number in range(1_000_000, 1_020_000)).replace("0000", "a1Bz")
    changed = edited(tmp_path, {"a.txt": "one\n", "b.txt": "two\n"}, {"a.txt": text, "b.txt": "three\n"})
    counted = CountingBlobs(changed.blobs.root)
    grade = ForbidSecrets().grade(replace(changed, blobs=counted))
    assert (grade.outcome, grade.why.split(" added")[0]) == ("fail", f"more than {MOST_COMPARED}")
    assert max(counted.opened.values()) <= 2


def test_a_secret_beside_one_that_moved_into_its_line_is_seen(tmp_path: Path) -> None:
    other = "ghp_" + drawn(36)
    changed = edited(
        tmp_path, {"a.txt": f"{SECRET}\n", "b.txt": "y\n"}, {"a.txt": "x\n", "b.txt": f"{SECRET} {other}\n"}
    )
    assert ForbidSecrets().grade(changed).outcome == "fail"


def test_a_moved_secret_that_is_repeated_thousands_of_times_hides_no_other(tmp_path: Path) -> None:
    changed = edited(
        tmp_path,
        {"a.txt": f"{SECRET}\n", "b.txt": "y\n"},
        {"a.txt": "x\n", "b.txt": f"{SECRET} " * (2 * MOST_COMPARED) + f"\nghp_{drawn(36)}\n"},
    )
    assert ForbidSecrets().grade(changed).outcome == "fail"


def test_a_removed_secret_is_no_secret(tmp_path: Path) -> None:
    assert ForbidSecrets().grade(edited(tmp_path, {"a.txt": LEAK}, {})).outcome == "pass"


def test_a_variable_of_the_agent_that_was_redacted_is_a_secret(tmp_path: Path) -> None:
    """Its value is on no record, so only the importer could see it."""
    graded = edited(tmp_path, {}, {"notes.txt": "[redacted:API_KEY]\n"})
    found = Finding("secret_redacted", "warning", "notes.txt", "redacted")
    change = replace(graded.change, findings=(found,))
    grade = ForbidSecrets().grade(replace(graded, change=change))
    assert (grade.outcome, "notes.txt" in grade.why) == ("fail", True)


def test_no_change_passes() -> None:
    assert ForbidSecrets().grade(case({})).outcome == "pass"


def test_the_line_is_that_of_the_new_file(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"a.txt": "1\n2\n3\n"}, {"a.txt": f"1\n2\nnew\n{LEAK}\n3\n"})
    assert [finding.where for finding in ForbidSecrets().grade(changed).findings] == ["a.txt:4"]


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\0\1\2" + LEAK.encode() + b"\0\xff", LEAK.encode("utf-16"), b"\xff\xfe\xfd" + LEAK.encode()],
    ids=["in a program", "in UTF-16", "in no encoding"],
)
def test_a_secret_is_seen_in_a_binary_file(data: bytes, tmp_path: Path) -> None:
    assert ForbidSecrets().grade(edited(tmp_path, {}, {"a.bin": data})).outcome == "fail"


def test_a_secret_is_seen_in_the_target_of_a_link() -> None:
    grade = ForbidSecrets().grade(case({"a": (None, link(SECRET))}))
    assert grade.outcome == "fail"
    assert SECRET not in spoken(grade)


def test_a_secret_is_seen_in_a_name_and_not_repeated(tmp_path: Path) -> None:
    grade = ForbidSecrets().grade(edited(tmp_path, {}, {f"logs/{SECRET}.txt": "x"}))
    assert grade.outcome == "fail"
    assert SECRET not in spoken(grade)


def test_what_is_too_large_to_read_is_said(tmp_path: Path) -> None:
    grade = ForbidSecrets().grade(edited(tmp_path, {}, {"a.txt": b"x" * (FILE_BYTES + 5)}))
    assert grade.outcome == "pass"
    assert "5 bytes not searched" in grade.why


def test_findings_are_bounded(tmp_path: Path) -> None:
    text = "\n".join(f"ghp_{drawn(36)}" for _ in range(200))
    grade = ForbidSecrets().grade(edited(tmp_path, {}, {"a.txt": text}))
    assert len(grade.findings) == MOST_FINDINGS
    assert grade.why.startswith("200 ")


def test_a_finding_asks_for_a_look_and_fails_no_gate_by_itself(tmp_path: Path) -> None:
    grade = ForbidSecrets().grade(edited(tmp_path, {}, {"a.txt": LEAK}))
    assert {finding.severity for finding in grade.findings} == {"warning"}


@settings(max_examples=50)
@given(before=st.binary(max_size=200), after=st.binary(max_size=200))
def test_any_bytes_get_a_grade(before: bytes, after: bytes, tmp_path: Path) -> None:
    assert ForbidSecrets().grade(edited(tmp_path, {"a": before}, {"a": after})).outcome == "pass"
