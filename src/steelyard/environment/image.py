"""A contract -> its image, here: found, fetched or built now. Loaded for contracts with an image only."""

from __future__ import annotations

from steelyard.bench.verifier.options import SeparateVerifier
from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import shown
from steelyard.sandboxes.docker.api import engine
from steelyard.sandboxes.docker.image import Image, Recipe, build_image, find_image


def image_of(contract: Contract) -> Image:
    declared = contract.spec.environment
    if not declared.image and not declared.build:
        raise OperatorFault(f"{contract.id} names no image, so it cannot run in the docker sandbox")
    if declared.image:
        image = find_image(engine(), declared.image)
    else:
        recipe = _recipe(contract, str(declared.build), unpinned=declared.allow_unpinned)
        image = build_image(engine(), recipe)
    if image.volumes and declared.scope == "system":
        message = (
            f"the image has a volume at {shown(image.volumes[0])}; files written there cannot be captured"
        )
        field = "environment.image" if declared.image else "environment.build"
        raise ContractFault(Problem("contract.yaml", field, message, "an image without VOLUME"))
    return image


def separate_image(contract: Contract, separate: SeparateVerifier) -> Image | None:
    """The image of a verifier's own; None: a fresh container of the agent's."""
    if separate.image:
        return find_image(engine(), separate.image)
    if separate.build:
        return build_image(engine(), _recipe(contract, separate.build, unpinned=separate.allow_unpinned))
    return None


def _recipe(contract: Contract, build: str, *, unpinned: bool) -> Recipe:
    folder = f"{build.rstrip('/')}/"
    files = {
        name.removeprefix(folder): file for name, file in contract.files.items() if name.startswith(folder)
    }
    network = "host" if contract.spec.setup_network == "host" else "none"
    return Recipe(files, network, unpinned)
