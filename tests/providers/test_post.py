"""A request to a model's API that fails says why in words that a reader can act on."""

from __future__ import annotations

import pytest

from steelyard.providers.client import PostFailure, post


def test_a_host_without_an_address_is_named_as_the_cause() -> None:
    """The numbers of the resolver are not those of errno, whose text for them is `Unknown error -2`."""
    with pytest.raises(PostFailure, match="the name of its host cannot be resolved"):
        post("http://model.invalid/v1", b"{}", {}, within_s=60, most_bytes=1 << 10)
