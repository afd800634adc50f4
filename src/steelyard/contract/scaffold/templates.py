"""The texts of new contracts and of their hidden tests, to be filled in. `check` warns of a text that was left as it is."""

from __future__ import annotations

UNFINISHED = "write tests of what must hold; `steelyard check --reference` then runs them on your solution"
CONTRACT = """\
# yaml-language-server: $schema=contract.schema.json
# (steelyard schema > contract.schema.json gives your editor completion for every key)
id: {id}
brief_file: brief.md            # what the agent reads
hints: []                       # e.g. ["tests: make test"]

repository:
{repository}

environment:
{toolchain}
  env: {{TZ: UTC}}

{setup}

{build}oracle:
  checks:                       # all must pass, on a fresh tree with the agent's change
{build_check}    - id: acceptance
      type: tests               # reports each test; `type: command` reads only an exit code
      cmd: {cmd}
{runner}{alternatives}      inject:                   # hidden files, written over the change last; agents never see them
        - {{src: {src}, dest: {dest}}}
      timeout_s: 600
      weight: 1
  # reference: reference.patch  # a solution, as `git diff` writes it; shows that the task can be done

# policy:
#   allowed_paths: {places}
budget: {{wall_s: 1800}}

graders: []
"""


QUESTION = """\
# yaml-language-server: $schema=contract.schema.json
id: {id}
workspace: none                 # no repository: the agent's output is one answer
brief_file: brief.md            # what the agent reads

oracle:
  checks:
    - id: right
      type: verifier            # reads /workspace/answer.txt and writes a reward from 0 to 1
      script: tests/test.sh
  reference: right.txt          # a right answer; shows that the verifier accepts one

budget: {{wall_s: 600}}
"""
QUESTION_BRIEF = "What is the sum of the primes below 1000? Answer with the number only.\n"
VERIFIER = """\
#!/bin/sh
# Writes the reward, a number from 0 to 1.
if [ "$(tr -d '[:space:]' < /workspace/answer.txt)" = 76127 ]; then reward=1; else reward=0; fi
mkdir -p /logs/verifier && echo "$reward" > /logs/verifier/reward.txt
"""
ANSWER = "76127\n"

PYTHON_TEST = f"""\
import unittest


class Acceptance(unittest.TestCase):
    def test_what_must_hold_once_the_task_is_done(self):
        self.fail("{UNFINISHED}")
"""
NODE_TEST = f"""\
import assert from "node:assert";
import test from "node:test";

test("what must hold once the task is done", () => {{
  assert.fail("{UNFINISHED}");
}});
"""
GLOBAL_TEST = f"""\
test("what must hold once the task is done", () => {{
  throw new Error("{UNFINISHED}");
}});
"""
VITEST_TEST = f"""\
import {{ expect, test }} from "vitest";

test("what must hold once the task is done", () => {{
  expect.fail("{UNFINISHED}");
}});
"""
MOCHA_TEST = f"""\
it("what must hold once the task is done", () => {{
  throw new Error("{UNFINISHED}");
}});
"""
GO_TEST = f"""\
package acceptance

import "testing"

func TestWhatMustHoldOnceTheTaskIsDone(t *testing.T) {{
	t.Fatal("{UNFINISHED}")
}}
"""
RUST_TEST = f"""\
#[test]
fn what_must_hold_once_the_task_is_done() {{
    panic!("{UNFINISHED}");
}}
"""
TAP_TEST = f"""\
#!/bin/sh
# Prints one line for each test (TAP): `ok 1 - NAME` or `not ok 1 - NAME`, after the number of tests.
echo "1..1"
make >build.log 2>&1 || {{ cat build.log >&2; echo "not ok 1 - it builds"; exit 1; }}
# e.g.: if [ "$(./program input)" = "expected" ]; then echo "ok 1 - ..."; else echo "not ok 1 - ..."; fi
echo "# {UNFINISHED.replace("`", "")}"
echo "not ok 1 - what must hold once the task is done"
exit 1
"""
HIDDEN_TESTS = (  # as they were written; `check` warns of a contract that still has one
    *(PYTHON_TEST, NODE_TEST, GLOBAL_TEST, VITEST_TEST, MOCHA_TEST),
    *(GO_TEST, RUST_TEST, TAP_TEST),
)
