"""Which changed data belongs to the tests, by where it lies and by who names it in the snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.bench.transfer.oracle.data import OracleData
from steelyard.bench.transfer.oracle.source_texts import SourceTexts
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.tree import Entry

FILES = {
    "conftest.py": "DATA = Path(__file__).parent / 'fixtures'\n",
    "shop/cart.py": "from shop.recordings import tape\nRATES = read('rates.json')\nTEXTS = path.join(HERE, 'locale', lang)\n",
    "shop/recordings/__init__.py": "def tape(): return open('a.bin')\n",
    "shop/recordings/b.bin": "",
    "shop/rates.json": "",
    "shop/wanted.json": "",
    "shop/test_unit.py": "def test_a(data_regression): check('wanted.json', 'rates.json', 'locale/de.json')\n",
    "shop/test_unit/test_a.yml": "",
    "tests/test_cart.py": "from fixtures import maker\nopen('expected.json'); open('README.md'); Path('cases') / f'{n}.txt'\n",
    "tests/data/x.json": "",
    "fixtures/maker.py": "",
    "fixtures/a.json": "",
    "locale/de.json": "",
    "expected.json": "",
    "asked.json": "",
    "cases/one.txt": "",
    "README.md": "",
    "bin/tally": "",
    "scripts/update.py": "write('expected.json', 'fixtures/a.json')\n",
    "pkg/testdata/in.txt": "",
    "pkg/x_test.go": "os.ReadFile(filepath.Join(`testdata`, name)); f(`asked.json`, `bin/tally`)\n",
    "src/snapshots/lib.snap": "",
}
BELONGS = {
    "shop/__snapshots__/cart.test.js.snap": "recorded",
    "tests/__snapshots__/test_cart.ambr": "recorded",
    "src/snapshots/lib.snap": "recorded",
    "cart.golden": "recorded",
    "cart.approved.txt": "recorded",
    "Cart.verified.json": "recorded",
    "cart.expected": "recorded",
    "e2e/home.spec.ts-snapshots/home.png": "recorded",
    "shop/test_unit/test_a.yml": "recorded",
    "pkg/testdata/in.txt": "folder",
    "fixtures/a.json": "folder",
    "fixtures/maker.py": "folder",
    "expected.json": "named",
    "cases/one.txt": "named",
    "shop/wanted.json": "named",
    "shop/rates.json": "both",
    "locale/de.json": "both",
    "asked.json": "both",
    "README.md": "no",
    "shop/cart.py": "no",
    "shop/recordings/__init__.py": "no",
    "shop/recordings/b.bin": "no",
    "tests/data/x.json": "no",  # with the tests
    "tests/test_cart.py": "no",
    "locale/fr.json": "no",
    "new.json": "no",
    "bin/tally": "no",
    "golden.py": "no",
}


@pytest.fixture
def data(tmp_path: Path) -> OracleData:
    entries = {}
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        entries[path] = Entry("file", "644", len(text), "0" * 64)
    return OracleData(entries, SourceTexts(tmp_path, entries), "Write asked.json.")


@pytest.mark.parametrize("path", BELONGS)
def test_data_belongs_to_who_reads_it(data: OracleData, path: str) -> None:
    assert data.belongs(path) == BELONGS[path]


def test_hidden_tests_name_data_as_well(data: OracleData, tmp_path: Path) -> None:
    hidden = {"checks/test_hidden.py": b"open('shop/other.json')"}
    baseline = {**data.baseline, "shop/other.json": Entry("file", "644", 1, "0" * 64)}
    assert (
        OracleData(baseline, SourceTexts(tmp_path, baseline, lambda: hidden)).belongs("shop/other.json")
        == "named"
    )


def test_a_reference_that_changes_a_file_says_that_it_is_work(data: OracleData) -> None:
    own = OracleData(data.baseline, data.texts, referenced=lambda: {"expected.json"})
    assert own.belongs("expected.json") == "both"


def test_a_verifier_has_its_data_beside_its_script(data: OracleData) -> None:
    own = OracleData(data.baseline, data.texts, has_suite=False)
    assert (own.belongs("fixtures/a.json"), own.belongs("cart.golden")) == ("no", "recorded")


def test_new_data_is_carried_unless_it_is_called_like_a_test_of_the_snapshot(data: OracleData) -> None:
    new = Entry("file", "644", 1, "0" * 64)
    for path in (
        "web/fixtures/a.json",
        "fixtures/b.json",
        "tests/__snapshots__/own.ambr",
        "tests/samples/a.expected",
    ):
        assert data.left_behind(ChangeEntry(path, None, new)) is None
    assert data.left_behind(ChangeEntry("tests/__snapshots__/test_cart.ambr", None, new)) is not None
