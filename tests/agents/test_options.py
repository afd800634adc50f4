"""Options of clients have types; a wrong one is refused with the list of all."""

from __future__ import annotations

import pytest

from steelyard.agents.clients.catalogue import CLIENTS
from steelyard.agents.clients.claude_code import Options
from steelyard.agents.options import describe, non_default_options, parse_options
from steelyard.errors import OperatorFault


def parse(text: str) -> Options:
    options = parse_options("claude_code", Options, text)
    assert isinstance(options, Options)
    return options


def test_each_value_has_the_type_of_its_option() -> None:
    options = parse("model=claude-opus-5-5,max_turns=30,max_budget_usd=1.5")
    assert (options.model, options.max_turns, options.max_budget_usd) == ("claude-opus-5-5", 30, 1.5)


def test_a_dash_in_a_name_is_an_underscore() -> None:
    assert parse("model=m,max-turns=3").max_turns == 3


def test_what_was_given_differs_from_the_defaults() -> None:
    assert non_default_options(parse("model=m,max_turns=0")) == {"model": "m"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs model=..."),
        ("max_turns=3", "needs model=..."),
        ("modle=m", "has no option 'modle'; did you mean model?"),
        ("model", "has no option 'model'"),
        ("model=m,max_turns=many", "not a number"),
        ("model=m,max_turns=-1", "out of range"),
        ("model=a,model=b", "given twice"),
        ("model=a\x1b[31m", "cannot be printed"),
    ],
)
def test_a_wrong_option_is_refused(text: str, message: str) -> None:
    with pytest.raises(OperatorFault) as caught:
        parse(text)
    assert message in str(caught.value)


def test_a_refusal_lists_every_option() -> None:
    with pytest.raises(OperatorFault) as caught:
        parse("turns=3")
    assert describe("claude_code", Options) in str(caught.value)


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_describes_its_options(name: str) -> None:
    text = describe(name, CLIENTS[name].options)
    assert "model=TEXT" in text
    assert "version=TEXT" in text
