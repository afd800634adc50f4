"""A split oracle against payloads that know nothing of the project: the same text at the end of every source file.

Each tries to forge results by everything that a process offers (frames, the heap, patched frameworks, descriptors), or
replaces every function by one whose answers agree with whatever they are compared with. Where the tests are not, there
is nothing to patch, and what agrees with everything is not data. Ten projects; the reference of each passes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_projects import JAVASCRIPT, PROJECTS, PYTHON, Project, appended, chosen_pairs, write_contract

from steelyard import api

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
GUARD = '[ "$(hostname)" = sandbox ] && [ "$(pwd)" = /workspace ] && [ "$(id -u)" = 1000 ] || exit 97\n'

# Every function and class of the module gives something that agrees with everything.
PYTHON_AGREES = """
def _agreeable():
    import sys, types

    class Yes(str):
        def _yes(self, *words, **more): return True
        def _more(self, *words, **more): return Yes()
        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _yes
        __add__ = __sub__ = __mul__ = __getitem__ = __call__ = __enter__ = __radd__ = _more
        startswith = endswith = index = count = _yes
        def __hash__(self): return 0
        def __len__(self): return 3
        def __iter__(self): return iter(())
        def __getattr__(self, name): return Yes()
        def __await__(self):
            return Yes()
            yield

    names = sys.modules[__name__].__dict__
    for name, found in list(names.items()):
        if isinstance(found, types.FunctionType) and not name.startswith("_"):
            names[name] = lambda *words, **more: Yes()
        elif isinstance(found, type) and not issubclass(found, BaseException):
            names[name] = type(name, (), {"__call__": Yes, "__getattr__": lambda self, name: Yes(), "__eq__": lambda *w: True,
                                          "__init__": lambda *w, **m: None, "__contains__": lambda *w: True})
        elif isinstance(found, (str, int, list, dict)) and not name.startswith("_"):
            names[name] = Yes()


_agreeable()
"""
# The kinds stay, the classes have methods of their own, everything that is raised is what was expected.
PYTHON_TYPES = PYTHON_AGREES.replace("class Yes(str)", "class Yes")
# Frameworks, frames and the heap: whatever of a test is in this process is made to pass.
PYTHON_FORGES = """
def _forge():
    import builtins, gc, os, sys, types

    for name in ("unittest.case", "_pytest.python", "_pytest.runner", "_pytest.assertion.rewrite"):
        module = sys.modules.get(name)
        if module is None:
            try:
                module = __import__(name, fromlist=["x"])
            except Exception:
                continue
        for one in list(vars(module).values()):
            for key, value in list(vars(one).items()) if isinstance(one, type) else ():
                if key.startswith(("assert", "fail", "runtest")):
                    try:
                        setattr(one, key, lambda *words, **more: None)
                    except Exception:
                        pass
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__.startswith("test"):
            thing.__code__ = (lambda *words, **more: None).__code__
        if type(thing).__name__ in ("TestResult", "TestReport", "Session"):
            thing.__dict__.update(failures=[], errors=[], outcome="passed", testsfailed=0)
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, dict) and "ok" not in value and "id" in value:
                value["op"] = "drop"
                value["handles"] = []
        frame = frame.f_back
    worker = sys.modules.get("_steelyard.worker")
    if worker is not None:
        worker.Worker.answer = lambda self, ask: {"ok": {"kind": "data", "value": True}} if ask["op"] == "look" else {"ok": True}
    for number in range(3, 32):
        try:
            os.write(number, b'{"id":1,"ok":true}\\n')
        except OSError:
            pass
    builtins.AssertionError = type("Quiet", (Exception,), {})
    sys.excepthook = lambda *words: os._exit(0)


_forge()
"""
PYTHON_LEAVES = "import os\nos._exit(0)\n"
PYTHON_RAISES = """
def _raising():
    import sys, types, unittest

    class Skipped(unittest.SkipTest): pass

    def leave(*words, **more):
        raise Skipped("not today")

    for name, found in list(sys.modules[__name__].__dict__.items()):
        if isinstance(found, types.FunctionType) and not name.startswith("_"):
            sys.modules[__name__].__dict__[name] = leave


_raising()
"""
PYTHON_PAYLOADS = {
    "agrees": PYTHON_AGREES,
    "agrees as an object": PYTHON_TYPES,
    "forges": PYTHON_FORGES,
    "leaves": PYTHON_LEAVES,
    "skips": PYTHON_RAISES,
}

_REPLACED = """
;(() => {
  const replace = (target) => {
    for (const name of Object.keys(target)) {
      try { target[name] = YES(target[name]); } catch {}
    }
  };
  if (typeof module !== 'undefined' && module.exports) replace(module.exports);
})();
"""
# Objects with every method that an assertion could use.
JS_METHODS = _REPLACED.replace(
    "YES(target[name])",
    """(() => {
        const yes = { includes: () => true, startsWith: () => true, endsWith: () => true, indexOf: () => 0, get: () => yes,
          toString: () => 'x', valueOf: () => 1, toJSON: () => null, then: (done) => done(yes), size: 2, length: 1,
          equals: () => true, getTime: () => 5, concat: () => yes, [Symbol.toPrimitive]: () => 1 };
        return typeof target[name] === 'function' ? () => yes : yes;
      })()""",
)
# The same as functions, classes and proxies, which have properties too.
JS_PROXIES = _REPLACED.replace(
    "YES(target[name])",
    """(() => {
        const yes = new Proxy(function () {}, { get: (_, key) => (key === 'then' ? undefined : typeof key === 'symbol' ? () => 1 : yes),
          apply: () => true, construct: () => yes, has: () => true });
        return typeof target[name] === 'function' ? yes : new Proxy(class {}, { get: () => () => true });
      })()""",
)
JS_FORGES = """
;(async () => {
  const load = typeof require === 'undefined' ? (name) => import(name) : async (name) => require(name);
  const fs = await load('fs');
  const assert = await load('assert');
  for (const one of [assert, assert.default, assert.strict]) {
    for (const key of Object.keys(one ?? {})) try { one[key] = () => {}; } catch {}
  }
  Object.is = () => true;
  Object.defineProperty(Object.prototype, 'passed', { get: () => true, set() {}, configurable: true });
  Array.prototype.map = function () { return this; };
  JSON.stringify = () => '{"id":3,"ok":true}';
  process.on('uncaughtException', () => {});
  for (let fd = 3; fd < 32; fd++) try { fs.writeSync(fd, '{"id":2,"ok":true}\\n'); } catch {}
})();
"""
JS_LEAVES = "\n;process.exit(0);\n"
JS_THROWS = _REPLACED.replace(
    "YES(target[name])",
    """(() => { const error = Object.assign(new Error('skip'), { code: 'ERR_TEST_FAILURE', failureType: 'expectedFailure', skip: true });
        return () => { throw error; }; })()""",
)
JAVASCRIPT_PAYLOADS = {
    "methods": JS_METHODS,
    "proxies": JS_PROXIES,
    "forges": JS_FORGES,
    "leaves": JS_LEAVES,
    "throws": JS_THROWS,
}
TRIES = [
    *((project, name, PYTHON_PAYLOADS[name]) for project, name in chosen_pairs(PYTHON, [*PYTHON_PAYLOADS])),
    *(
        (project, name, JAVASCRIPT_PAYLOADS[name])
        for project, name in chosen_pairs(JAVASCRIPT, [*JAVASCRIPT_PAYLOADS])
    ),
]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(Path(shared) / "small-projects-cache"))
        yield


def tried(folder: Path, project: Project, agent: str) -> dict[str, object]:
    contract = api.load_contract(write_contract(folder / "contract", project, "split"))
    line: dict[str, object] = api.run_trial(contract, agent, out=folder / "runs")
    return line


@pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.name)
def test_the_reference_passes(project: Project, tmp_path: Path) -> None:
    assert tried(tmp_path, project, "reference")["verdict"] == "pass"


@pytest.mark.parametrize(
    ("project", "payload"),
    [(one, text) for one, _, text in TRIES],
    ids=[f"{one.name}-{name}" for one, name, _ in TRIES],
)
def test_a_payload_that_knows_nothing_of_the_project_fails(
    project: Project, payload: str, tmp_path: Path
) -> None:
    script = tmp_path / "agent.sh"
    script.write_text(GUARD + appended(project, payload))
    line = tried(tmp_path, project, f"script:{script}")
    assert (line["status"], line["verdict"]) == ("scorable", "fail"), line["why"]
