"""An agent prints lines that a CI system obeys when `steelyard logs` runs in a job: errors, masks, variables."""

from __future__ import annotations

from e2e_stage import House, Line, agent, stage

house, line = stage()

PRINTED = r"::error::forged\n  ::add-mask::pass\nx ##[error]forged\n##vso[task.setvariable]x\nstd::string\n"


@agent(f"printf '{PRINTED}'; printf '::warning::last' >&2")
def test_workflow_commands_in_the_output_are_not_commands_in_logs(line: Line, house: House) -> None:
    printed = house.steelyard("logs", line["folder"])
    text = printed.stdout.decode() + printed.stderr.decode()
    assert not [one for one in text.splitlines() if one.lstrip().startswith("::")]
    assert "##[" not in text
    assert "##vso[" not in text
    assert r"\x3a:error::forged" in text
    assert "std::string" in text
