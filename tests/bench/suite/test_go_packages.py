"""Which file a test of Go is in: its report names packages and functions only."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from steelyard.bench.suite.go_packages import GoPackages
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.suite.result_files import ResultFiles

TREE = {
    "go.mod": b"// shop\nmodule example.com/shop\n\ngo 1.19\n",
    "tools/go.mod": b'module "example.com/shop/tools/v2"\n',
    "shop_test.go": b"package shop\n\nfunc TestShop(t *testing.T) {}\n",
    "cart/cart.go": b"package cart\n\nfunc TestLike() {}\n",
    "cart/cart_test.go": b"package cart\n\nfunc TestAdd(t *testing.T) {}\nfunc ExampleAdd() {}\n",
    "cart/more_test.go": b"package cart_test\n\nfunc FuzzAdd(f *testing.F) {}\n// func TestOld(t *testing.T) {}\n",
    "cart/on_linux_test.go": b"package cart\n\nfunc TestSystem(t *testing.T) {}\n",
    "cart/on_windows_test.go": b"package cart\n\nfunc TestSystem(t *testing.T) {}\n",
    "tools/gen/gen_test.go": b"package gen\n\nfunc TestAdd(t *testing.T) {}\n",
}


def packages(tree: Iterable[str] = TREE) -> GoPackages:
    return GoPackages.of([path for path in TREE if path.endswith("_test.go")], tree, TREE.get)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("example.com/shop::TestShop", "shop_test.go"),
        ("example.com/shop/cart::TestAdd", "cart/cart_test.go"),
        ("example.com/shop/cart::TestAdd/by_2", "cart/cart_test.go"),
        ("example.com/shop/cart::ExampleAdd", "cart/cart_test.go"),
        ("example.com/shop/cart::FuzzAdd/seed#0", "cart/more_test.go"),
        ("example.com/shop/tools/v2/gen::TestAdd", "tools/gen/gen_test.go"),
        ("example.com/shop/cart::TestOld", ""),
        ("example.com/shop/cart::TestLike", ""),
        ("example.com/shop/cart::TestSystem", ""),  # of two files, one of which is compiled
        ("example.com/shop/cart", ""),
        ("example.com/shop/gone::TestAdd", ""),
    ],
)
def test_a_test_is_in_the_file_that_declares_it(name: str, file: str) -> None:
    assert packages().file_of(name) == file


@pytest.mark.parametrize("name", ["example.com/new/cart::TestAdd", "cart::TestAdd"])
def test_without_a_module_the_end_of_the_package_names_the_folder(name: str) -> None:
    """The work adds go.mod."""
    assert packages(["cart/cart.go"]).file_of(name) == "cart/cart_test.go"


def test_a_report_without_files_gets_them() -> None:
    files = ResultFiles.of(TREE, packages=packages())
    reported = SuiteReport("go", "report_file", (Result("example.com/shop/cart::TestAdd", "passed"),))
    assert [one.file for one in files.with_files(reported).results] == ["cart/cart_test.go"]
    assert "cart/cart_test.go" in files.files
    assert "cart/cart.go" not in files.files
