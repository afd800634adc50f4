"""Caps hold, whatever requests come at the same time."""

from __future__ import annotations

import asyncio
import http.client
import threading
from decimal import Decimal
from typing import Any

import pytest

from gateway_rig import MakeRig
from steelyard.gateway.caps import CapReached, Caps, ModelBudget, RequestNeed
from steelyard.gateway.projection import MOST_SAMPLES, Projection, UsageProjection
from steelyard.providers.answer import AnswerMeter
from steelyard.providers.prices import Cost, Prices
from steelyard.providers.usage import Usage

TEXT = "word " * 400  # 2000 characters, 500 tokens


def need(prompt_bytes: int = 200, max_output: int = 1000, model: str = "claude-opus-4-5") -> RequestNeed:
    return RequestNeed(
        prompt_bytes, max_output, lambda usage, chars: Prices().cost("anthropic", model, usage, chars)
    )


def reserved(budget: ModelBudget, *needs: RequestNeed) -> Any:
    async def reserve() -> list[Any]:
        return [await budget.reserve(one) for one in needs]

    return asyncio.run(reserve())


def test_a_reservation_takes_prompt_and_most_output() -> None:
    (one,) = reserved(ModelBudget(Caps(tokens=10_000)), need())
    assert (one.tokens, one.output, one.is_cut) == (101 + 1000, 1000, False)


def test_an_answer_that_does_not_fit_gets_what_is_left() -> None:
    (one,) = reserved(ModelBudget(Caps(tokens=500)), need())
    assert (one.tokens, one.output, one.is_cut) == (500, 399, True)


def test_a_prompt_that_does_not_fit_reaches_the_cap() -> None:
    with pytest.raises(CapReached) as reached:
        reserved(ModelBudget(Caps(tokens=100)), need())
    assert (reached.value.code, reached.value.budget) == ("token_cap", "tokens")


def test_dollars_limit_the_answer_too() -> None:
    budget = ModelBudget(Caps(cost_usd=Decimal("0.01")))
    (one,) = reserved(budget, need())
    assert one.is_cut
    assert Decimal("0.0099") < one.usd <= Decimal("0.01")


def test_a_model_without_a_price_is_limited_by_units() -> None:
    budget = ModelBudget(Caps(cost_usd=Decimal("0.000001"), cost_units=Decimal(3)))
    (one,) = reserved(budget, need(model="local-model"))
    assert (one.usd, one.units, one.output) == (0, Decimal(3), 500)


def test_model_calls_are_counted_before_they_are_made() -> None:
    budget = ModelBudget(Caps(model_calls=1))
    (one,) = reserved(budget, need())
    budget._held.discard(one)
    with pytest.raises(CapReached, match="1 of 1 model calls") as reached:
        reserved(budget, need())
    assert reached.value.code == "model_call_cap"


def test_a_request_waits_for_others_that_hold_what_it_needs() -> None:
    async def both() -> list[int]:
        budget = ModelBudget(Caps(tokens=500))
        first = await budget.reserve(need())
        second = asyncio.create_task(budget.reserve(need()))
        await asyncio.sleep(0)
        assert not second.done()
        budget.charge(first, Usage(100, 50), Cost(Decimal(0), None, "library", ""))
        return [first.output, (await second).output]

    assert asyncio.run(both()) == [399, 239]


def test_settling_twice_charges_once() -> None:
    async def settle() -> int:
        budget = ModelBudget(Caps(tokens=5000))
        one = await budget.reserve(need())
        for _ in range(2):
            budget.charge(one, Usage(100, 50), None)
        return budget.tokens

    assert asyncio.run(settle()) == 150


def test_prompts_are_estimated_by_the_largest_ratio_of_the_run() -> None:
    async def ratio() -> float:
        budget = ModelBudget(Caps(tokens=50_000))
        one = await budget.reserve(need(prompt_bytes=1000))
        budget.charge(one, Usage(800, 10), None)
        return budget.ratio

    assert asyncio.run(ratio()) == pytest.approx(0.88)


def test_tokens_that_a_provider_adds_to_every_prompt_are_reserved_too() -> None:
    async def prompt() -> int:
        budget = ModelBudget(Caps(tokens=50_000))
        one = await budget.reserve(need(prompt_bytes=100))
        budget.charge(one, Usage(1000, 10), None)
        return (await budget.reserve(need(prompt_bytes=200))).tokens - 1000

    assert asyncio.run(prompt()) == 200 + 900 + 1


def test_parallel_requests_cannot_exceed_a_cap_together(rig: MakeRig) -> None:
    """Twenty requests of 600 tokens each, a cap of 3000: at most five are billed in full."""
    script = {"turns": [{"text": TEXT}], "usage": {"tokens_in": 100, "tokens_out": 500}}
    made = rig(script, caps=Caps(tokens=3000))
    codes: list[int] = []

    def ask() -> None:
        try:
            codes.append(made.ask(max_tokens=500).status)
        except (OSError, http.client.HTTPException):
            codes.append(0)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.model is not None
    assert made.model.billed.tokens <= 3000
    assert codes.count(200) >= 3
    assert made.route.cap is not None
    assert made.route.cap.code == "token_cap"


def test_a_stream_that_would_exceed_the_cap_is_cut_and_the_cut_is_recorded(rig: MakeRig) -> None:
    usage = {"tokens_in": 50, "tokens_out": 500}
    made = rig({"turns": [{"text": TEXT}], "usage": usage}, caps=Caps(tokens=300))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        made.ask(stream=True, max_tokens=4000)
    made.route.close()
    (response,) = made.payloads("model.response")
    assert "the budget had left" in response["cut"]
    assert response["complete"] is False
    assert made.route.cap is not None


def test_an_answer_in_one_piece_is_asked_for_with_a_lower_limit(rig: MakeRig) -> None:
    """It cannot be cut on its way: the provider would bill all of it."""
    made = rig([{"text": "short"}], caps=Caps(tokens=300))
    made.ask(max_tokens=4000)
    assert made.model is not None
    assert made.model.requests[0]["body"]["max_tokens"] < 300
    assert made.payloads("model.request")[0]["changed"] == ["max_tokens"]


def test_after_a_cap_nothing_is_forwarded(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], caps=Caps(model_calls=2))
    assert [made.ask().status for _ in range(4)] == [200, 200, 403, 403]
    assert made.model is not None
    assert len(made.model.requests) == 2


def test_a_stream_is_cut_at_the_chunk_whose_projected_cost_exceeds_the_cap(rig: MakeRig) -> None:
    usage = {"tokens_in": 50, "tokens_out": 500}
    made = rig({"turns": [{"text": TEXT}], "usage": usage}, caps=Caps(cost_usd=Decimal("0.005")))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        made.ask(stream=True, max_tokens=4000)
    made.route.close()
    (response,) = made.payloads("model.response")
    assert "USD that the budget had left" in response["cut"]
    spent = [one["usd"] for one in response["projected"]]
    assert spent == sorted(spent)
    assert all(one <= 0.005 for one in spent[:-1])
    assert spent[-1] > 0.005
    assert made.payloads("cost")[0]["usd"] == pytest.approx(spent[-1], abs=0.0002)


def test_a_stream_whose_reported_prompt_exceeds_the_cap_is_cut_before_its_text(rig: MakeRig) -> None:
    usage = {"tokens_in": 90_000, "tokens_out": 500}
    made = rig({"turns": [{"text": TEXT}], "usage": usage}, caps=Caps(tokens=20_000))
    with pytest.raises((http.client.IncompleteRead, ConnectionError, http.client.RemoteDisconnected)):
        made.ask(stream=True, max_tokens=4000)
    made.route.close()
    (response,) = made.payloads("model.response")
    assert (response["cut"] is not None, len(response["projected"])) == (True, 1)


def test_a_text_that_is_longer_than_its_limit_seems_to_allow_is_not_cut_while_the_caps_have_room(
    rig: MakeRig,
) -> None:
    """A limit of 100 tokens, and a text of 2000 characters: long words have more than four characters a token."""
    made = rig(
        {"turns": [{"text": TEXT}], "usage": {"tokens_in": 50, "tokens_out": 100}}, caps=Caps(tokens=9000)
    )
    made.ask(stream=True, max_tokens=100)
    assert made.payloads("model.response")[0]["complete"]


def test_an_answer_beyond_its_reservation_takes_only_what_no_other_request_holds() -> None:
    budget = ModelBudget(Caps(tokens=40_000))
    one, _ = reserved(budget, need(), need())  # 1101 tokens each
    assert budget.overshoot(one, UsageProjection(38_899, Decimal(0), Decimal(0))) == ""
    assert one.tokens == 38_899
    assert budget.overshoot(one, UsageProjection(38_900, Decimal(0), Decimal(0))) == "38,899 tokens"


def test_samples_of_a_projection_are_few_and_have_the_first_and_the_last_chunk() -> None:
    meter = AnswerMeter("generate", is_stream=True)
    projection = Projection(need().cost, 100)
    for _ in range(1000):
        meter.output_chars += 4
        projection.feed(meter)
    samples = projection.to_json()
    assert len(samples) <= MOST_SAMPLES
    assert (samples[0]["chunk"], samples[-1]["chunk"], samples[-1]["tokens"]) == (1, 1000, 1100)
    exact = need().cost(Usage(100, 1000), 4000).usd
    assert samples[-1]["usd"] == pytest.approx(float(exact or 0))
