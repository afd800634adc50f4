"""Studies whose price list prices more than models: what is reserved, charged, withheld and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_study import FakeStudy
from small_study import MakeContract, SmallStudy, folders

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.annotations import append_annotation
from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.agent_options import AgentOptions, GatewayOptions
from steelyard.plan.study_plan import Envelopes, Stages, Tolerance
from steelyard.sandboxes.fake import Answer

NO_POWER = Stages(tolerance=Tolerance(power=0.0))
BUDGET = {"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}}
CHECKS = {"checks": [{"id": "sum", "cmd": "true", "timeout_s": 10}]}


@pytest.fixture
def options(tmp_path: Path) -> Any:
    """Rows of a price list -> the options of a study that uses it."""

    def make(*rows: str) -> AgentOptions:
        file = tmp_path / "prices.csv"
        file.write_text("\n".join(["action_type,unit,unit_price", *rows, ""]))
        return AgentOptions(gateway=GatewayOptions(cost_model=str(file)))

    return make


def small_study(fake: FakeStudy, contracts: list[Any], **wish: Any) -> SmallStudy:
    small = SmallStudy.of(fake, contracts, stages=NO_POWER, **wish)
    small.plan = small.plan.located(Path.cwd())
    return small


def test_a_budget_that_can_start_no_trial_is_refused_with_the_number(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    """Sixty seconds of work, 160 of checks and two minutes of grace, at a dollar a minute, and two dollars for models."""
    with pytest.raises(
        OperatorFault, match=r"--budget 7 is less than one run may cost, 7\.66667 USD"
    ) as fault:
        small_study(
            fake_study,
            [contract(budget=BUDGET, oracle=CHECKS)],
            options=options("exec,minute,1"),
            budget=Envelopes(total_usd=7.0),
        )
    assert "(models 2, execution 5.66667); no trial could start" in str(fault.value)


def test_a_budget_that_reviews_take_is_refused(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    with pytest.raises(OperatorFault, match="without the 5 USD for reviews"):
        small_study(
            fake_study,
            [contract(budget=BUDGET, oracle=CHECKS)],
            options=options("exec,minute,1"),
            budget=Envelopes(total_usd=10.0, review_usd=5.0),
        )


def test_a_budget_that_holds_one_run_beside_the_reviews_is_enough(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    """Of dollars as binary fractions, 0.3 - 0.2 would be less than 0.1."""
    made = contract(budget={**BUDGET, "cost_usd": 0.1}, oracle=CHECKS)
    small = small_study(fake_study, [made], budget=Envelopes(total_usd=0.3, review_usd=0.2, run_usd=0.1))
    assert small.run().how == "complete"


def test_the_whole_cost_of_runs_is_charged_and_within_the_budget(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    small = small_study(
        fake_study,
        [contract(budget=BUDGET, oracle=CHECKS)],
        options=options("exec,minute,1", "provisioning,start,0.25", "overhead,run,0.5"),
        budget=Envelopes(total_usd=100.0),
    )
    assert small.run(jobs=2).how == "complete"
    state = small.state()
    runs = len(small.verdicts())
    assert state["spent"]["overhead"] == 0.5 * runs
    assert state["spent"]["execution"] >= 0.25 * runs
    assert state["spent_usd"] == pytest.approx(small.spent)
    assert state["left_usd"] == pytest.approx(100 - small.spent)


def test_execution_that_has_a_price_exhausts_a_budget_that_models_do_not_touch(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    """Each run costs a dollar of overhead and reserves that and its minutes: the budget ends before the plan does."""
    small = small_study(
        fake_study,
        [contract(budget=BUDGET, oracle=CHECKS)],
        options=options("overhead,run,1"),
        repeats=6,
        budget=Envelopes(total_usd=4.0, run_usd=3.0),
    )
    outcome = small.run(jobs=3)
    assert (outcome.how, outcome.why.startswith("B_total")) == ("stopped", True)
    assert (len(small.verdicts()), small.spent) == (4, 4.0)


def test_reviews_that_are_recorded_later_are_charged_when_the_study_resumes(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    made = contract(budget=BUDGET, oracle=CHECKS)
    small = small_study(
        fake_study,
        [made],
        options=options("overhead,run,1", "human,minute,1"),
        repeats=2,
        budget=Envelopes(total_usd=7.5, run_usd=3.0),
    )
    small.run(stages=("shakedown",))
    before = len(small.verdicts())
    append_annotation(
        RunFolder(folders(fake_study.out)[0]), {"kind": "annotation", "annotation": {}, "minutes": 5.0}
    )
    outcome = small.run()
    assert outcome.why.startswith("B_total")
    assert (len(small.verdicts()), small.spent) == (before, before + 5.0)
    assert small.state()["spent"]["people"] == 5.0


def test_minutes_of_people_on_a_removed_contract_stay_charged(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    small = small_study(
        fake_study,
        [contract("one", budget=BUDGET, oracle=CHECKS), contract("two", budget=BUDGET, oracle=CHECKS)],
        options=options("overhead,run,1", "human,minute,1"),
        budget=Envelopes(total_usd=50.0, run_usd=3.0),
    )
    small.run()
    before = small.spent
    (run, *_) = [path for path in folders(fake_study.out) if "-one-" in path.name]
    append_annotation(RunFolder(run), {"kind": "annotation", "annotation": {}, "minutes": 5.0})
    small.folder.add("removal", contract="one", by="ada", reason="its check reads the clock")
    small.run()
    state = small.state()
    assert (state["spent_usd"], state["spent"]["people"]) == (before + 5.0, 5.0)
    assert small.logged("end")[-1]["spent_usd"] == before + 5.0


def test_a_killed_run_is_charged_its_whole_bound(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    small = small_study(
        fake_study,
        [contract(budget=BUDGET, oracle=CHECKS)],
        options=options("exec,minute,1"),
        budget=Envelopes(total_usd=100.0),
    )
    small.run()
    before = small.spent
    (folders(fake_study.out)[0] / "seal.json").unlink()
    small.run()
    assert small.spent > before + 5.6


def test_checks_that_take_longer_than_the_study_pays_for_end_the_run(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    """A resource stop: the run fails, and is neither repeated nor invalid."""
    fake_study.script = lambda request: Answer(hangs="true" in request.argv[-1])
    small = small_study(
        fake_study,
        [contract(budget=BUDGET, oracle=CHECKS)],
        options=options("exec,minute,0.001"),
        agents=[],
        acceptance_s=0.3,
    )
    small.run(stages=("shakedown",))
    lines = [one for one in small.verdicts() if one[1] == "noop"]
    assert [state for _, _, state in lines] == ["fail"]


def test_without_a_price_for_minutes_checks_have_only_their_own_limits(
    fake_study: FakeStudy, contract: MakeContract, options: Any
) -> None:
    small = small_study(fake_study, [contract(budget=BUDGET)], options=options("overhead,run,1"))
    assert small.plan.contracts[0].acceptance_s is None


def test_a_plan_without_prices_has_no_new_keys(fake_study: FakeStudy, contract: MakeContract) -> None:
    """So its digest is what it was."""
    written = small_study(fake_study, [contract(budget=BUDGET)]).plan.to_yaml()
    assert "acceptance_s" not in written
    assert "review_usd" not in written
