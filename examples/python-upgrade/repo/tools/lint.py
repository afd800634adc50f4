"""Finds what we do not want in our code.   usage: python3 tools/lint.py FOLDER...

compiles       every file is Python
private        nothing private of another package is used: neither `from slugs._x import y` nor `slugs._x`
unused         every name that is imported is used
"""

import ast
import sys
from pathlib import Path


def main(folders):
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    wrong = [f"{path}:{line}: {what}" for path in files for line, what in lint(path)]
    print("\n".join(wrong) or f"{len(files)} files, nothing found")
    return 1 if wrong or not files else 0


def lint(path):
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        return [(getattr(error, "lineno", 1), f"compiles: {error}")]
    return sorted([*private(tree), *unused(tree)])


def private(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, f"private: {module}") for module in modules if is_private(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            if is_private(node.attr):
                yield node.lineno, f"private: {node.value.id}.{node.attr}"


def is_private(module):
    return any(part.startswith("_") and not part.endswith("__") for part in module.split("."))


def unused(tree):
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                if name not in used:
                    yield node.lineno, f"unused: {name}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
