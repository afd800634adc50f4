"""How checks and judge disagree -> what that usually means, in words."""

from __future__ import annotations

MEANING = {
    "none": "",
    "judge_pass_checks_fail": "judge PASS, checks FAIL: the work looks right but broke a hard rule, "
    "such as a failing test, a forbidden path or an edited test file",
    "checks_pass_judge_fail": "checks PASS, judge FAIL: every rule was kept, but what was asked for "
    "was not convincingly done",
    "advisory_warning": "both PASS, and an advisory grader failed: a warning that does not change the verdict",
}
