"""A model on this machine that says what a test wants it to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from court import Court, Sits

from steelyard.gateway.scripted import Replies, ScriptedModel, environment, serving


@pytest.fixture
def court() -> Iterator[Sits]:
    with ExitStack() as stack:

        def sits(replies: Replies) -> Court:
            model = ScriptedModel(replies)
            return Court(model, environment(stack.enter_context(serving(model))))

        yield sits
