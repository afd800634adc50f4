"""A contract folder -> a `Contract`, or every mistake in it at once."""

from __future__ import annotations

from pathlib import Path

from steelyard.contract.cache import Cache
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract


def load_contract(path: Path, catalogue: Catalogue, cache: Cache | None = None) -> Contract:
    """Load the contract in `path` (its folder or its contract.yaml); raises ContractFault."""
    raise NotImplementedError


def find_contracts(paths: list[Path]) -> list[Path]:
    """The contract folders that `paths` name: contract folders, contract.yaml files, and suite folders."""
    raise NotImplementedError
