"""A file that does real work and also steers is carried with the baseline's settings, where the two can be separated."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.transfer.merged_settings import with_old_settings
from steelyard.bench.transfer.steering_parts import PARTS, same_part

OLD = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-x"\n\n[tool.ruff]\nline-length = 99\n'


def merged(name: str, old: str | None, new: str) -> str | None:
    found = with_old_settings(name, None if old is None else old.encode(), new.encode())
    return None if found is None else found.decode()


def test_the_rest_of_a_pyproject_is_the_works() -> None:
    new = OLD.replace('"a"', '"b"').replace('"-x"', '"--collect-only"') + '[tool.poe.tasks]\ntest = "true"\n'
    found = merged("pyproject.toml", OLD, new)
    assert found is not None
    assert tomllib.loads(found) == tomllib.loads(OLD.replace('"a"', '"b"'))


def test_a_new_pyproject_is_carried_without_its_settings() -> None:
    found = merged("pyproject.toml", None, OLD)
    assert found is not None
    assert tomllib.loads(found) == {"project": {"name": "a"}, "tool": {"ruff": {"line-length": 99}}}


@pytest.mark.parametrize(
    "new",
    [
        'x = 1\ntool.pytest.ini_options.addopts = "--co"\n',
        '[tool]\npytest = {ini_options = {addopts = "--co"}}\n',
        'x = """\n[tool.pytest]\n"""\n[tool]\npytest.a = 1\n',
        "[tool.pytest\n",
    ],
)
def test_settings_that_cannot_be_distinguished_leave_the_whole_file_to_the_baseline(new: str) -> None:
    assert merged("pyproject.toml", OLD, new) is None


def test_the_rest_of_a_setup_cfg_is_the_works() -> None:
    old = "[metadata]\nname = a\n[tool:pytest]\naddopts = -x\n"
    found = merged("setup.cfg", old, "[tool:pytest]\naddopts = --co\n[metadata]\nname = b\n")
    assert found == "[metadata]\nname = b\n[tool:pytest]\naddopts = -x\n"


def test_the_rest_of_a_package_json_is_the_works() -> None:
    old = {"name": "a", "scripts": {"test": "jest"}, "dependencies": {"x": "1"}, "imports": {"#c": "chai"}}
    new = {
        "name": "a",
        "version": "2",
        "scripts": {"test": "true"},
        "jest": {"testMatch": []},
        "dependencies": {"x": "2", "mocha": "file:./evil"},
        "imports": {"#c": "./evil.js"},
    }
    found = merged("package.json", json.dumps(old), json.dumps(new))
    assert found is not None
    assert json.loads(found) == {**old, "version": "2", "dependencies": {"x": "2"}}


@given(st.sampled_from(sorted(PARTS)), st.binary(max_size=200), st.binary(max_size=200))
def test_what_comes_out_steers_as_the_baseline_does(name: str, old: bytes, new: bytes) -> None:
    found = with_old_settings(name, old, new)
    assert found is None or same_part(PARTS[name], old, found)
