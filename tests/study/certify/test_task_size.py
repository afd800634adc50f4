"""The size of a task as `certify` prints it."""

from __future__ import annotations

from steelyard.study.certify.size import TaskSize


def test_one_file_is_not_called_one_files() -> None:
    size = TaskSize(language="python", files=1, tokens=1, imports=0, test_s=None)
    assert size.text.startswith("size: 1 file, about 1 token, 0 imports; ")
