"""What a tool builds or installs by itself is not taken from a change."""

from __future__ import annotations

import pytest

from steelyard.bench.runners.catalogue import BY_NAME
from steelyard.bench.runners.products import without_products
from steelyard.sandboxes.base import FileOverlay


def carried(runner: str, *paths: str, baseline: tuple[str, ...] = ()) -> list[str]:
    work = [FileOverlay(path, "file") for path in paths]
    return [one.path for one in without_products(BY_NAME[runner], work, set(baseline))]


@pytest.mark.parametrize(
    ("runner", "path", "baseline"),
    [
        ("maven", "target/test-classes/CartTest.class", "pom.xml"),
        ("maven", "app/target/surefire-reports/TEST-x.xml", "app/pom.xml"),
        ("cargo", "target/debug/.fingerprint/x", "Cargo.toml"),
        ("cargo", "target", "Cargo.toml"),
        ("gradle", "app/build/classes/A.class", "app/build.gradle.kts"),
        ("jest", "node_modules/.bin/jest", "package.json"),
        ("jest", "web/node_modules/jest/index.js", "web/package.json"),
        ("ctest", "build/CTestTestfile.cmake", "CMakeLists.txt"),
        ("ctest", "out/CMakeFiles/cart.dir/cart.c.o", "CMakeLists.txt"),
    ],
)
def test_a_product_that_the_change_brought_stays_away(runner: str, path: str, baseline: str) -> None:
    assert carried(runner, path, "src/a", baseline=(baseline,)) == ["src/a"]


@pytest.mark.parametrize(
    ("runner", "path", "baseline"),
    [
        ("cargo", "src/target/mod.rs", "Cargo.toml"),
        ("cargo", "target/kept.rs", "target/kept.rs"),
        ("gradle", "src/build/Builder.java", "build.gradle"),
        ("exit_code", "target/x", "Cargo.toml"),
        ("go", "target/x.go", "go.mod"),
    ],
)
def test_a_folder_that_only_has_such_a_name_is_carried(runner: str, path: str, baseline: str) -> None:
    assert carried(runner, path, baseline=(baseline,)) == [path]


def test_a_manifest_that_the_change_adds_makes_its_products_known() -> None:
    assert carried("cargo", "new/Cargo.toml", "new/target/x") == ["new/Cargo.toml"]
