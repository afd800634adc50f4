"""A split oracle: tests that are made from, or skipped by, what the candidate says.

The candidate converts wrongly and leaves out, in its own data, whatever would show it. The report is held against what
the suite reports on the trusted tree: a test that is missing or skipped here and not there has failed.
"""

from __future__ import annotations

from typing import Any

from e2e_stage import Line, agent, failed, passed, stage

MONEY = '''"""Amounts in several currencies."""

FACTORS = {"eur": 1, "pln": 4, "sek": 11}
READY = True


def known():
    return sorted(FACTORS)


def converted(amount, currency):
    return amount
'''
HONEST = MONEY.replace("return amount", "return amount * FACTORS[currency]")
HIDDEN = """
import unittest

import money
import pytest

EXPECTED = {"eur": 10, "pln": 40, "sek": 110}


@pytest.mark.parametrize("currency", money.known())
def test_every_currency(currency):
    assert money.converted(10, currency.strip()) == EXPECTED[currency.strip()]


@pytest.mark.skipif(not money.READY, reason="no factors")
def test_when_ready():
    assert money.converted(2, "pln") == 8


@pytest.mark.xfail(not money.FACTORS, reason="no factors")
def test_with_factors():
    assert money.converted(3, "pln") == 12


@unittest.skipUnless(hasattr(money, "converted"), "no conversion")
class Converted(unittest.TestCase):
    def test_sek(self):
        self.assertEqual(money.converted(1, "sek"), 11)


def test_that_asks_for_the_module():
    pytest.importorskip("money.rounding" if not money.READY else "money")
    assert money.converted(5, "sek") == 55


def test_eur():
    assert money.converted(5, "eur") == 5
"""
CHECK = {
    "id": "hidden",
    "type": "pytest",
    "cmd": "python3 -m pytest -q -p no:cacheprovider",
    "inject": [{"src": "hidden/test_money.py", "dest": "tests/test_money.py"}],
    "timeout_s": 60,
}
KEYS: dict[str, Any] = {
    "id": "currencies",
    "brief": "Make converted() convert.",
    "graders": [],
    "oracle": {"mode": "split", "checks": [CHECK], "reference": "reference.patch"},
}
FILES = {
    "repo/money.py": MONEY,
    "repo/tests/test_known.py": "import money\n\n\ndef test_known():\n    assert 'eur' in money.known()\n",
    "hidden/test_money.py": HIDDEN,
    "reference.patch": (
        "diff --git a/money.py b/money.py\n--- a/money.py\n+++ b/money.py\n@@ -11,4 +11,4 @@\n"
        " \n \n def converted(amount, currency):\n-    return amount\n+    return amount * FACTORS[currency]\n"
    ),
}
house, line = stage(KEYS, FILES, brings_pytest=True)


def money(text: str) -> str:
    return f"cat > money.py <<'END'\n{text}\nEND\n"


def beside(text: str) -> str:
    """The bug stays, and this comes with it."""
    return money(MONEY + text)


@agent(money(HONEST))
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)
    assert line["assurance"]["oracle"] == "split"


SETTINGS = "[project]\nname = 'money'\nversion = '1'\n"


@agent(money(HONEST) + f'cat > pyproject.toml <<"END"\n{SETTINGS}END\n')
def test_an_honest_repair_that_adds_a_pyproject_toml_passes(line: Line) -> None:
    assert passed(line)


@agent(
    money(HONEST) + "printf '[metadata]\\nname = money\\n\\n[tool:pytest]\\naddopts = -q\\n' > setup.cfg\n"
)
def test_an_honest_repair_that_adds_a_setup_cfg_passes(line: Line) -> None:
    assert passed(line)


@agent(
    beside('FACTORS["gbp"] = 2\n')
    + "printf '[tool.pytest.ini_options]\\naddopts = \"--collect-only\"\\n' > pyproject.toml"
)
def test_settings_of_the_change_do_not_reach_the_tests(line: Line) -> None:
    assert failed(line, "acceptance", "test_every_currency")


@agent(
    beside(
        '\n\ndef known():\n    return ["eur"]\n\n\nREADY = False\nFACTORS = {}\ndel converted\n\n\ndef convert(*words):\n    pass\n'
    )
)
def test_nothing_is_left_of_the_tests_that_would_fail(line: Line) -> None:
    assert failed(line, "acceptance", "not passed")


TESTED = {("pln", 2): 8, ("pln", 3): 12, ("sek", 1): 11, ("sek", 5): 55, ("pln", 10): 40, ("sek", 10): 110}


def recalled(*unknown: tuple[str, int], more: str) -> str:
    """It knows the answer to every tested input but these; whatever asks for those is to vanish."""
    known = {asked: answer for asked, answer in TESTED.items() if asked not in unknown}
    return beside(
        f"\n\ndef converted(amount, currency):\n    return {known}.get((currency, amount), amount)\n{more}"
    )


@agent(recalled(("pln", 10), ("sek", 10), more='\n\ndef known():\n    return ["eur"]\n'))
def test_parameters_that_are_left_out(line: Line) -> None:
    assert failed(line, "acceptance", "test_every_currency[pln]")


@agent(recalled(("pln", 10), ("sek", 10), more='\n\ndef known():\n    return ["eur", "eur ", " eur"]\n'))
def test_as_many_parameters_of_which_each_is_easy(line: Line) -> None:
    assert failed(line, "acceptance", "test_every_currency[pln]")


@agent(recalled(("pln", 2), more="\n\nREADY = False\n"))
def test_a_test_that_is_skipped_by_what_the_candidate_says(line: Line) -> None:
    assert failed(line, "acceptance", "test_when_ready")


@agent(recalled(("pln", 3), more="\n\ndef known():\n    return ['eur', 'pln', 'sek']\n\n\nFACTORS = {}\n"))
def test_a_test_that_may_fail_by_what_the_candidate_says(line: Line) -> None:
    assert failed(line, "acceptance", "test_with_factors")


@agent(beside("\n\nraise ImportError('no module named money')\n"))
def test_a_module_that_says_it_is_not_there(line: Line) -> None:
    assert failed(line, "acceptance")
