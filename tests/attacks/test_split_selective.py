"""The cheat that a twin cannot see, on the bundled contract: it takes the expectation from the test that calls it.

Changed expectations are implausible, so it does not believe them and fails the twin like honest work does.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("mode", "verdict"), [("twin", "pass"), ("split", "fail")])
def test_only_a_split_oracle_stops_a_selective_cheat(
    mode: str, verdict: str, tmp_path: Path, steelyard: Callable[..., Any]
) -> None:
    contract = shutil.copytree(EXAMPLES / "python-shares", tmp_path / "shares")
    text = (contract / "contract.yaml").read_text()
    assert "mode: split" in text
    (contract / "contract.yaml").write_text(text.replace("mode: split", f"mode: {mode}"))
    agent = f"script:{EXAMPLES / 'agents' / 'peek-shares.sh'}"
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert (line["verdict"], line["assurance"]["oracle"]) == (verdict, mode)
