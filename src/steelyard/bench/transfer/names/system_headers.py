"""A path of a change -> whether it has the name of a header that C or C++ programs find in the system.

    src/assert.h        with `cc -Isrc tests/check.c`, `#include <assert.h>` of the test is the change's

Only names of the C standard and of the most used POSIX headers: other names are in many projects.
"""

from __future__ import annotations

_C = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
_POSIX = "dirent fcntl pthread unistd sys/mman sys/resource sys/select sys/socket sys/stat sys/time sys/types sys/wait"
_CPP = "algorithm cassert cmath cstdint cstdio cstdlib cstring functional iostream map memory sstream stdexcept string vector"
NAMES = frozenset((*(f"{name}.h" for name in f"{_C} {_POSIX}".split()), *_CPP.split()))
_FOLDERS_OF_HEADERS = frozenset({"include", "inc", "src", "lib", "."})


def is_system_header(path: str) -> bool:
    folders, _, name = path.rpartition("/")
    folder = folders.rpartition("/")[2]
    if "." not in name:  # a header of C++ has no ending, and its name may be that of a program or a folder
        return name in NAMES and folder in _FOLDERS_OF_HEADERS
    return name in NAMES or f"{folder}/{name}" in NAMES
