"""Which files of a change have the name of a header of the system."""

from __future__ import annotations

import pytest

from steelyard.bench.transfer.names.system_headers import is_system_header


@pytest.mark.parametrize("path", ["assert.h", "src/assert.h", "lib/sys/stat.h", "include/vector"])
def test_a_header_that_an_include_path_may_find_first_is_known(path: str) -> None:
    assert is_system_header(path)


@pytest.mark.parametrize(
    "path", ["src/config.h", "src/stat.h", "docs/vector", "data/map", "src/string.c", "assert.hpp"]
)
def test_another_file_is_none(path: str) -> None:
    assert not is_system_header(path)
