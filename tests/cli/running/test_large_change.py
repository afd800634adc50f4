"""A change of 50 MB is graded like any other; its patch names the file that it leaves out."""

from __future__ import annotations

from collections.abc import Callable

from authoring import FIX, Author, Steelyard

MB_50 = 50 << 20


def test_a_change_of_50_mb_is_graded_shown_and_explained(
    author: Author, script: Callable[[str], str], steelyard: Steelyard
) -> None:
    environment = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 256, "processes": 64}
    contract = author.write(environment=environment, quality={"envelope": {"files": 2, "lines": 4}})
    agent = script(f"{FIX}yes a line of text | head -c {MB_50} > big.txt\n")
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert line["verdict"] == "pass"
    assert line["quality"]["dimensions"]["minimal"]["score"] < 1e-9
    assert f"not in this patch: big.txt: {MB_50} bytes" in steelyard("diff", "last").out
    assert steelyard("show", "last", "--why").code == 0
