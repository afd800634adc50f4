"""The languages that have twins, by the end of a file's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.golang import twin as golang
from steelyard.bench.twin.javascript import twin as javascript
from steelyard.bench.twin.python.twin import twin_python
from steelyard.bench.twin.rust import twin as rust

_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
TWINS: Mapping[str, Callable[[bytes, str, bytes], Twin | None]] = {
    ".py": twin_python,
    # Through their modules, which load when the first file of the language is looked at.
    **dict.fromkeys(
        _JAVASCRIPT,
        lambda source, path, secret: javascript.twin_javascript(source, path, secret),  # noqa: PLW0108  # see above
    ),
    "_test.go": lambda source, path, secret: golang.twin_go(source, path, secret),  # noqa: PLW0108  # see above
    ".rs": lambda source, path, secret: rust.twin_rust(source, path, secret),  # noqa: PLW0108  # see above
}
_RUNS_GO = re.compile(r"(^|[\s/;&|(])(go\s+test|gotestsum)(\s|$)")
_RUNS_RUST = re.compile(r"(^|[\s/;&|(])cargo\s+(test|t)(\s|$)")
_RUST_TESTS = re.compile(r"(^|/)tests/([^/]+|[^/]+/main)\.rs$")


def has_twin(path: str, suite: Suite) -> bool:
    """Whether a file of this name, run by this command, can have a twin at all."""
    if path.endswith(".py"):
        # Without assertions everything passes, with whatever expectations.
        return not suite.env.get("PYTHONOPTIMIZE") and not {"-O", "-OO"}.intersection(suite.argv)
    if path.endswith(".go"):
        return path.endswith("_test.go") and _RUNS_GO.search(suite.command) is not None
    if path.endswith(".rs"):  # tests in src/ are in files of the product
        return _RUST_TESTS.search(path) is not None and _RUNS_RUST.search(suite.command) is not None
    return path.endswith(tuple(TWINS))


def twin_of(path: str, source: bytes, secret: bytes) -> Twin | None:
    """The twin of a file, drawn from the secret; None when nothing in it can be changed."""
    make = next((make for ending, make in TWINS.items() if path.endswith(ending)), None)
    return None if make is None else make(source, path, secret)
