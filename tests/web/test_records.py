"""The viewer counts all runs as the index has them, whichever process wrote it."""

from __future__ import annotations

import os
from pathlib import Path

from made_records import made_lines

from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store
from steelyard.web.records import Records

LONG_AGO_NS = 1_700_000_000_000_000_000


def test_runs_that_another_process_indexed_are_counted(tmp_path: Path) -> None:
    """`steelyard runs` beside a viewer reads new folders first, so the viewer itself has nothing to read."""
    lines = {line["run"]: line for line in made_lines(2, 1)}

    def read(folder: RunFolder) -> Entry:
        return entry_of_line(folder.run_id, lines[folder.run_id], None)

    def add(run: str) -> None:
        (tmp_path / run).mkdir()
        (tmp_path / run / MANIFEST).write_bytes(b"{}")
        os.utime(tmp_path / run, ns=(LONG_AGO_NS, LONG_AGO_NS))

    first, *others = lines
    add(first)
    records = Records(tmp_path, Store(tmp_path, read))
    records.sync()
    for run in others:
        add(run)
    with Store(tmp_path, read) as other:
        other.sync()

    records.sync()

    assert sum(int(row["runs"]) for row in records.tally(("state",))) == len(lines)
    records.close()


def test_a_change_in_a_run_folder_gives_the_index_another_mark(tmp_path: Path) -> None:
    """A review changes the numbers of a study, and adds no run: its page is computed again by this mark."""
    (line,) = made_lines(1, 1, {"noop": 0.0})
    folder = tmp_path / line["run"]
    folder.mkdir()
    (folder / MANIFEST).write_bytes(b"{}")
    os.utime(folder, ns=(LONG_AGO_NS, LONG_AGO_NS))
    records = Records(tmp_path, Store(tmp_path, lambda run: entry_of_line(run.run_id, line, None)))
    marks = []
    for later_ns in (0, 10**9):
        os.utime(folder, ns=(LONG_AGO_NS, LONG_AGO_NS + later_ns))
        for _ in range(3):
            records.sync()
            marks.append(records.mark)
    records.close()
    assert marks[1] == marks[2] != marks[4] == marks[5]
