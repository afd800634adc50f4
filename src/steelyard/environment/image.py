"""A contract -> its image, here: found, fetched or built now. Loaded for contracts with an image only."""

from __future__ import annotations

from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import printable
from steelyard.sandboxes.docker.api import engine
from steelyard.sandboxes.docker.image import Image, Recipe, build_image, find_image


def image_of(contract: Contract) -> Image:
    declared = contract.spec.environment
    if not declared.image and not declared.build:
        raise OperatorFault(
            f"{contract.id} names no image, so it cannot run in the docker sandbox; add "
            "`environment: {sandbox: docker, image: NAME@sha256:...}` to its contract, or `build: FOLDER` with a Dockerfile"
        )
    if declared.image:
        image = find_image(engine(), declared.image)
    else:
        recipe = _recipe(contract, str(declared.build), unpinned=declared.allow_unpinned)
        image = build_image(engine(), recipe)
    if image.volumes and declared.scope == "system":
        message = (
            f"the image has a volume at {printable(image.volumes[0])}; files written there cannot be captured"
        )
        field = "environment.image" if declared.image else "environment.build"
        raise ContractFault(Problem("contract.yaml", field, message, "an image without VOLUME"))
    return image


def find_or_build_image(
    contract: Contract, name: str | None, build: str | None, *, allow_unpinned: bool
) -> Image | None:
    """The image of that name, or the one built from that folder of the contract; None if neither is given."""
    if name:
        return find_image(engine(), name)
    if build:
        return build_image(engine(), _recipe(contract, build, unpinned=allow_unpinned))
    return None


def _recipe(contract: Contract, build: str, *, unpinned: bool) -> Recipe:
    folder = f"{build.rstrip('/')}/"
    files = {
        name.removeprefix(folder): file for name, file in contract.files.items() if name.startswith(folder)
    }
    network = "host" if contract.spec.setup_network == "host" else "none"
    return Recipe(files, network, unpinned)
