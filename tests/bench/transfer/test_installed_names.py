"""What interpreters of a bench find by name, and what of it is the snapshot's own."""

from __future__ import annotations

import pytest

from steelyard.bench.transfer.git_settings import (
    git_variables,
    is_git_config,
    is_git_hook,
    makes_a_repository,
    runs_programs,
)
from steelyard.bench.transfer.names.installed import read_names
from steelyard.bench.transfer.names.node_names import takes_a_name

INPUT = """\
s /usr/lib/python3/dist-packages
m yaml /usr/lib/python3/dist-packages
m tests /usr/lib/python3/dist-packages
m shop /usr/lib/python3/dist-packages
s /workspace/app
m web /workspace/app
m made /workspace/app
m google.protobuf /workspace/.venv/lib/python3.11/site-packages
n chai
n @scope/x
"""


def test_what_is_installed_is_distinguished_from_the_snapshot() -> None:
    found = read_names(INPUT, "/workspace", {"src/shop/__init__.py", "app/web.py"})
    assert found.modules == {"yaml", "made", "google.protobuf"}
    assert found.packages == {"chai", "@scope/x"}
    assert found.roots == {"app"}


@pytest.mark.parametrize(
    ("name", "old", "new", "taken"),
    [
        ("package.json", '{"name": "a"}', '{"name": "chai", "exports": "./x.js"}', True),
        ("package.json", '{"name": "a"}', '{"name": "chai"}', False),
        ("package.json", '{"name": "a"}', '{"name": "b", "exports": "./x.js"}', False),
        ("package.json", '{"name": "chai", "exports": "./x"}', '{"name": "chai", "exports": "./y"}', False),
        ("package.json", '{"imports": {"#a": "chai"}}', '{"imports": {"#a": "./x.js"}}', True),
        ("package.json", '{"imports": {"#a": "./y.js"}}', '{"imports": {"#a": "./x.js"}}', False),
        ("package.json", '{"imports": {"#a": {"node": "chai"}}}', "{}", True),
        ("tsconfig.json", "{}", '{"compilerOptions": {"paths": {"chai": ["x"]}}}', True),
        ("tsconfig.json", "{}", '// a\n{"compilerOptions": {"paths": {"*": ["x"],},},}', True),
        ("tsconfig.json", "{}", '{"compilerOptions": {"paths": {"@/*": ["src/*"]}}}', False),
        ("tsconfig.json", "{}", '{"ts-node": {"require": ["./evil.js"]}}', True),
        ("package.json", "{}", '{"name": ', False),
    ],
)
def test_a_name_of_an_installed_package_is_not_taken(name: str, old: str, new: str, taken: bool) -> None:  # noqa: FBT001
    assert takes_a_name(name, old.encode(), new.encode(), {"chai", "@scope/x"}) is taken


def test_a_folder_is_a_repository_by_its_head() -> None:
    assert makes_a_repository("HEAD", b"ref: refs/heads/main\n")
    assert makes_a_repository("x/HEAD", b"0" * 40)
    assert makes_a_repository("HEAD", None)
    assert not makes_a_repository("HEAD", b"# News\n")
    assert not makes_a_repository("HEAD.md", b"ref: x")


@pytest.mark.parametrize(
    ("config", "runs"),
    [
        (b"[core]\n\tfsmonitor = /x\n", True),
        (b"[core] fsmonitor = x\n", True),
        (b"[alias]\n  st = !sh x\n", True),
        (b'[filter "a"]\n clean = x\n', True),
        (b"[include]\npath = x\n", True),
        (b"[core]\n\tbare = false\n\tfilemode = true\n[user]\n\tname = a\n", False),
        (b'[remote "origin"]\n\turl = x\n', False),
        (b"path = /srv\n", False),
    ],
)
def test_settings_of_git_that_name_programs_are_seen(config: bytes, runs: bool) -> None:  # noqa: FBT001
    assert runs_programs(config) is runs


def test_the_variables_of_git_count_themselves() -> None:
    for scope in ("workspace", "system"):
        found = git_variables(scope)
        assert sum(name.startswith("GIT_CONFIG_KEY_") for name in found) == int(found["GIT_CONFIG_COUNT"])
    assert "safe.bareRepository" in git_variables("workspace").values()
    assert is_git_config("srv/x/.git/config")
    assert is_git_hook("srv/.git/hooks/pre-commit")
    assert not is_git_hook("srv/.git/hooks/pre-commit.sample")
