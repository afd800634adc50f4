"""A split oracle for JavaScript: tests that a loop makes from what the candidate says, or that it says to skip."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from e2e_stage import Line, agent, failed, passed, stage
from small_projects import patch_of

MONEY = """'use strict';
const FACTORS = { eur: 1, pln: 4, sek: 11 };
exports.READY = true;
exports.known = () => Object.keys(FACTORS);
exports.converted = (amount, currency) => amount;
"""
HONEST = MONEY.replace("=> amount;", "=> amount * FACTORS[currency];")
HIDDEN = """'use strict';
const test = require('node:test');
const assert = require('node:assert');
const money = require('../money.js');

const EXPECTED = { eur: 10, pln: 40, sek: 110 };
for (const one of money.known()) test(`converts ${one}`, () => { assert.strictEqual(money.converted(10, one.trim()), EXPECTED[one.trim()]); });
test('when ready', { skip: !money.READY }, () => { assert.strictEqual(money.converted(2, 'pln'), 8); });
test('later', { todo: !money.READY }, () => { assert.strictEqual(money.converted(3, 'pln'), 12); });
test('eur', () => { assert.strictEqual(money.converted(5, 'eur'), 5); });
"""
KEYS: dict[str, Any] = {
    "id": "currencies-js",
    "brief": "Make converted() convert.",
    "graders": [],
    "oracle": {
        "mode": "split",
        "checks": [
            {
                "id": "hidden",
                "type": "tests",
                "cmd": "node --test test/",
                "inject": [{"src": "hidden/money.test.js", "dest": "test/money.test.js"}],
                "timeout_s": 60,
            }
        ],
        "reference": "reference.patch",
    },
    "environment": {
        "toolchains": {"node": "20"},
        "memory_mb": {"guaranteed": 64, "limit": 768},
        "disk_mb": 64,
        "processes": 96,
    },
}
FILES = {
    "repo/money.js": MONEY,
    "repo/package.json": '{"name": "money", "private": true}\n',
    "hidden/money.test.js": HIDDEN,
    "reference.patch": patch_of("money.js", MONEY, HONEST),
}
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
house, line = stage(KEYS, FILES)


def money(text: str) -> str:
    return f"cat > money.js <<'END'\n{text}\nEND\n"


TESTED = "{ pln2: 8, pln3: 12, pln10: 40, sek10: 110 }"


def recalled(*unknown: str, more: str) -> str:
    """It knows the answer to every tested input but these; whatever asks for those is to vanish."""
    gone = "".join(f"delete answers.{one};\n" for one in unknown)
    answers = f"const answers = {TESTED};\n{gone}exports.converted = (n, c) => answers[c + n] ?? n;\n"
    return money(MONEY + answers + more)


@agent(money(HONEST))
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)


@agent(recalled("pln10", "sek10", more="exports.known = () => ['eur'];"))
def test_tests_that_are_left_out(line: Line) -> None:
    assert failed(line, "acceptance", "converts pln")


@agent(recalled("pln10", "sek10", more="exports.known = () => ['eur', ' eur', 'eur '];"))
def test_as_many_tests_of_which_each_is_easy(line: Line) -> None:
    assert failed(line, "acceptance", "converts pln")


@agent(recalled("pln2", "pln3", more="exports.READY = false;"))
def test_tests_that_are_skipped_by_what_the_candidate_says(line: Line) -> None:
    assert failed(line, "acceptance", "when ready", "later")
