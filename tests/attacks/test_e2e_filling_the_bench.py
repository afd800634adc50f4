"""A change that fills the bench's disk is a failure that counts; an honest one that is merely large passes."""

from __future__ import annotations

import pytest
from e2e_stage import CONTRACT, Line, agent, failed, stage

pytestmark = pytest.mark.every_case_in_containers
house, line = stage(
    {
        "environment": {**CONTRACT["environment"], "disk_mb": 24},
        "budget": {"wall_s": 40, "headroom": {"wall_s": 20}},
        "oracle": {**CONTRACT["oracle"], "checks": [{**CONTRACT["oracle"]["checks"][0], "timeout_s": 12}]},
    }
)


@agent("head -c 30000000 /dev/urandom > lib/full 2> /dev/null; head -c 30000000 /dev/zero > ~/full; true")
def test_a_disk_that_stays_full(line: Line) -> None:
    """The agent leaves its disk full to the last byte, so that its work fills the bench as well."""
    assert failed(line, "acceptance", "hidden")


@agent("/usr/bin/python3 -c \"for n in range(20000): open(f'lib/{n}', 'w').close()\" 2> /dev/null; true")
def test_a_disk_without_inodes(line: Line) -> None:
    """The agent leaves not a single inode, so that laying its work down takes all of the bench's."""
    assert failed(line, "acceptance", "hidden")


@agent("truncate -s 40M lib/holes")
def test_a_sparse_file_that_fills_the_bench(line: Line) -> None:
    """The agent leaves a file of holes that is below every cap, but is written out in full on the bench."""
    assert line["status"] == "scorable"


@agent("head -c 4000000 /dev/urandom > lib/a; for i in $(seq 20); do ln lib/a lib/b$i; done")
def test_hard_links_that_fill_the_bench(line: Line) -> None:
    """The agent gives one large file twenty names, each of which is a copy on the bench."""
    assert line["status"] == "scorable"
