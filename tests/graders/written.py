"""Source files before and after: honest work that must not be refused, and non-attempts that must be."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    path: str
    old: str | None
    new: str


PY = "def add(a, b):\n    raise NotImplementedError\n"
JS = 'function add(a, b) {\n  throw new Error("not implemented");\n}\nmodule.exports = { add };\n'
TS = 'export class Cart {\n  total(): number {\n    throw new Error("TODO");\n  }\n}\n'
GO = 'package cart\n\nfunc Add(a, b int) int {\n\tpanic("not implemented")\n}\n'
RUST = "pub fn add(a: i32, b: i32) -> i32 {\n    todo!()\n}\n"
JAVA = (
    'class Cart {\n  int add(int a, int b) {\n    throw new UnsupportedOperationException("TODO");\n  }\n}\n'
)
RUBY = "class Cart\n  def add(a, b)\n    raise NotImplementedError\n  end\nend\n"
LOOP = "def first(items):\n    for item in items:\n        if item:\n            return item\n            print(item)\n"
REAL_PY = "import os\n\nLIMIT = 60\n\n\nclass Cart:\n    size = 3\n\n    def total(self):\n        total = (1 + 2) * 3\n        for one in self.items:\n            total += one\n        return total\n\n    def clear(self):\n        self.items = []\n"

HONEST: dict[str, Edit] = {
    "a stub filled in": Edit("a.py", PY, "def add(a, b):\n    return a + b\n"),
    "a new file": Edit("a.py", None, "def add(a, b):\n    return a + b\n"),
    "one line of a fix": Edit("a.py", REAL_PY, REAL_PY.replace("total += one", "total += one.price")),
    "a constant": Edit("a.py", REAL_PY, REAL_PY.replace("60", "30")),
    "a constant of a class": Edit("a.py", REAL_PY, REAL_PY.replace("size = 3", "size = 4")),
    "brackets": Edit("a.py", REAL_PY, REAL_PY.replace("(1 + 2) * 3", "1 + 2 * 3")),
    "self": Edit("a.py", REAL_PY, REAL_PY.replace("total += one", "self.total += one")),
    "a comma that makes a tuple": Edit("a.py", "x = (1)\n", "x = (1,)\n"),
    "a statement moved out of a loop": Edit(
        "a.py",
        "def f(x):\n    for y in x:\n        g(y)\n        return 1\n",
        "def f(x):\n    for y in x:\n        g(y)\n    return 1\n",
    ),
    "wrong lines taken out": Edit("a.py", REAL_PY, REAL_PY.replace("            total += one\n", "            pass\n")),
    "a wrong method taken out": Edit("a.py", REAL_PY, REAL_PY[: REAL_PY.index("\n    def clear")]),
    "a wrong line outside functions taken out": Edit("a.py", REAL_PY, REAL_PY.replace("LIMIT = 60\n", "")),
    "a default value": Edit("a.py", "def f(a=1):\n    return a\n", "def f(a=2):\n    return a\n"),
    "an async function": Edit("a.py", "async def f():\n    pass\n", "async def f():\n    await g()\n"),
    "true to false": Edit("a.py", "def f():\n    return True\n", "def f():\n    return False\n"),
    "false to true": Edit("a.py", "def f():\n    return False\n", "def f():\n    return True\n"),
    "a method of a class": Edit("a.py", "class A:\n    def f(self): ...\n", "class A:\n    def f(self):\n        return self.x\n"),
    "a name exported": Edit("pkg/__init__.py", "", "from pkg.cart import Cart\n"),
    "an error of its own": Edit("a.py", None, "class Wrong(Exception):\n    pass\n"),
    "a base class": Edit("a.py", "class A(B):\n    def f(self):\n        pass\n", "class A(C):\n    def f(self):\n        pass\n"),
    "the last resort raises": Edit(
        "a.py", PY, "def add(a, b):\n    if b == 0:\n        return a\n    raise NotImplementedError(b)\n"
    ),
    "a function renamed": Edit("a.py", "def f(x):\n    return x\n", "def g(x):\n    return x\n"),
    "a decorator": Edit("a.py", "def f(x):\n    return x\n", "@cache\ndef f(x):\n    return x\n"),
    "a file that does not parse": Edit("a.py", PY, "def add(a, b)\n    return a + b\n"),
    "a template": Edit("a.py", "x = 'a'\n", "x = f'{a}'\n"),
    "js: a stub filled in": Edit("a.js", JS, JS.replace('throw new Error("not implemented")', "return a + b")),
    "js: an arrow": Edit("a.js", "const add = () => {};\n", "const add = (a, b) => a + b;\n"),
    "js: an arrow with a block": Edit("a.js", "const add = () => {};\n", "const add = () => { go(); };\n"),
    "js: a value beside functions": Edit(
        "a.js", "module.exports = { f: () => { g(); }, max: 1 };\n", "module.exports = { f: () => { g(); }, max: 2 };\n"
    ),
    "js: a function after the return that calls it": Edit(
        "a.js",
        "function f() {\n  return g();\n  function g() { return 1; }\n}\n",
        "function f() {\n  return g();\n  function g() { return 2; }\n}\n",
    ),
    "ts: a stub filled in": Edit("a.ts", TS, TS.replace('throw new Error("TODO")', "return this.sum")),
    "ts: a field": Edit("a.ts", TS, TS.replace("total()", "max = 3;\n  total()")),
    "tsx: a component": Edit("a.tsx", None, "export const A = () => <b>hello</b>;\n"),
    "go: a stub filled in": Edit("a.go", GO, GO.replace('panic("not implemented")', "return a + b")),
    "go: a struct": Edit("a.go", GO, GO + "\ntype Cart struct {\n\tsize int\n}\n"),
    "rust: a stub filled in": Edit("a.rs", RUST, RUST.replace("todo!()", "a + b")),
    "rust: a derived trait": Edit("a.rs", "struct A;\n", "#[derive(Clone)]\nstruct A;\n"),
    "java: a stub filled in": Edit("A.java", JAVA, JAVA.replace('throw new UnsupportedOperationException("TODO")', "return a + b")),
    "java: a constructor": Edit("A.java", "class A { A() {} }\n", "class A { A() { this.x = 1; } }\n"),
    "java: a default method": Edit("A.java", "interface A { int f(); }\n", "interface A { default int f() { return 1; } }\n"),
    "ruby: a stub filled in": Edit("a.rb", RUBY, RUBY.replace("raise NotImplementedError", "a + b")),
    "ruby: what a rescue does": Edit(
        "a.rb", "def f\n  return g\nrescue E\n  1\nend\n", "def f\n  return g\nrescue E\n  2\nend\n"
    ),
    "c: a line": Edit("a.c", "int f(int *p) {\n  *p = 1;\n}\n", "int f(int *p) {\n  *p = 2;\n}\n"),
    "c: an include": Edit("a.c", "int x;\n", "#include <a.h>\nint x;\n"),
    "shell: a line": Edit("add.sh", "echo 1\n", "echo 2\n"),
    "a script without an ending": Edit("bin/add", "#!/bin/sh\necho 1\n", "#!/bin/sh\necho 2\n"),
}  # fmt: skip

NOTHING: dict[str, Edit] = {
    "a comment": Edit("a.py", PY, "# I would add a and b.\n" + PY),
    "a docstring": Edit("a.py", PY, PY.replace(":\n", ':\n    """Adds."""\n', 1)),
    "the docstring of the file": Edit("a.py", REAL_PY, '"""Carts."""\n' + REAL_PY),
    "pass": Edit("a.py", PY, "def add(a, b):\n    pass\n"),
    "three dots": Edit("a.py", PY, "def add(a, b):\n    ...\n"),
    "a new stub": Edit("a.py", None, "def add(a, b):\n    raise NotImplementedError('later')\n"),
    "a new class of stubs": Edit("a.py", None, 'class A:\n    """A."""\n\n    def f(self):\n        pass\n'),
    "a stub with a word before it": Edit("a.py", PY, "def add(a, b):\n    del a, b\n    raise NotImplementedError\n"),
    "an error that says not implemented": Edit("a.py", PY, 'def add(a, b):\n    raise RuntimeError("not yet implemented")\n'),
    "a printed word": Edit("a.py", PY, 'def add(a, b):\n    print("TODO")\n'),
    "none": Edit("a.py", PY, "def add(a, b):\n    return None\n"),
    "an empty return": Edit("a.py", PY, "def add(a, b):\n    return\n"),
    "zero": Edit("a.py", PY, "def add(a, b):\n    return 0\n"),
    "another nothing": Edit("a.py", "def f():\n    return None\n", "def f():\n    return []\n"),
    "a function hollowed out": Edit("a.py", "def f(x):\n    return x + 1\n", "def f(x):\n    raise NotImplementedError\n"),
    "code after the return": Edit("a.py", LOOP, LOOP.replace("print(item)", "work(item)")),
    "code after a raise": Edit("a.py", PY, PY + "    return a + b\n"),
    "code that is never run": Edit("a.py", REAL_PY, REAL_PY + "\n\nif False:\n    work()\n"),
    "layout": Edit("a.py", "x = f(1,\n      2)\n", "x = f(\n    1,\n    2,\n)\n"),
    "quotes": Edit("a.py", "x = 'a'\n", 'x = "a"\n'),
    "blank lines": Edit("a.py", REAL_PY, REAL_PY.replace("\n", "\n\n")),
    "an abstract method": Edit("a.py", None, "class A(ABC):\n    @abstractmethod\n    def f(self): ...\n"),
    "a protocol": Edit("a.py", None, "class A(Protocol):\n    def f(self) -> int: ...\n"),
    "an overload": Edit(
        "a.py", "def f(x):\n    return x\n", "@overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x\n"
    ),
    "js: another stub": Edit("a.js", JS, JS.replace("throw new Error", "throw new TypeError")),
    "js: an empty arrow": Edit("a.js", JS, JS.replace("module.exports", "const sum = () => {};\nmodule.exports")),
    "js: use strict": Edit("a.js", JS, '"use strict";\n' + JS),
    "js: semicolons": Edit("a.js", "let x = f(1)\n", "let x = f(1);\n"),
    "js: undefined": Edit("a.js", JS, JS.replace('throw new Error("not implemented")', "return undefined")),
    "ts: an interface": Edit("a.ts", TS, TS + "interface Item { price: number }\n"),
    "ts: an overload": Edit("a.ts", TS, TS.replace("  total()", "  total(): number;\n  total()")),
    "ts: a declaration": Edit("a.ts", TS, TS + "declare function f(): void;\n"),
    "go: an interface": Edit("a.go", GO, GO + "\ntype Adder interface {\n\tAdd() int\n}\n"),
    "go: an error": Edit(
        "a.go", GO, 'package cart\n\nfunc Add(a, b int) int {\n\treturn errors.New("not implemented")\n}\n'
    ),
    "rust: unimplemented": Edit("a.rs", RUST, RUST.replace("todo!()", "unimplemented!()")),
    "rust: a panic": Edit("a.rs", RUST, RUST.replace("todo!()", 'panic!("not implemented")')),
    "rust: a test beside the code": Edit(
        "a.rs", RUST, RUST + "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(add(1, 2), 3); }\n}\n"
    ),
    "rust: a trait": Edit("a.rs", RUST, RUST + "trait Adds { fn adds(&self) -> i32; }\n"),
    "java: an interface": Edit("A.java", None, "interface A { int f(); }\n"),
    "java: an abstract method": Edit("A.java", "abstract class A { }\n", "abstract class A { abstract int f(); }\n"),
    "java: null": Edit("A.java", JAVA, JAVA.replace('throw new UnsupportedOperationException("TODO")', "return null")),
    "ruby: nil": Edit("a.rb", RUBY, RUBY.replace("raise NotImplementedError", "nil")),
    "c: a comment": Edit("a.c", "int x;\n", "/* TODO\n * later */\nint x;\n"),
    "shell: a comment": Edit("a.sh", "echo 1\n", "# later\necho   1\n"),
    "a test": Edit("tests/test_a.py", None, "def test_a():\n    assert f() == 1\n"),
    "a document": Edit("README.md", "a\n", "b\n"),
    "configuration": Edit("setup.cfg", "a\n", "b\n"),
    "an empty file": Edit("a.py", PY, ""),
    "bytes": Edit("a.bin", None, "\0\0"),
}  # fmt: skip
