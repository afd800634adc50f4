"""File name -> Grammar: which node types of a language are calls, functions, jumps and so on.

Only single grammar wheels, and each loads when the first file of its language is looked at.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard.deferred.data_class import dataclass

if TYPE_CHECKING:
    from tree_sitter import Tree


@dataclass(frozen=True, slots=True)
class Grammar:
    """The node types that matter, by what they are."""

    language: str
    package: str
    entry: str = "language"
    functions: frozenset[str] = frozenset()  # with a name
    classes: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()  # a.b
    blocks: frozenset[str] = frozenset()  # statements in order
    ifs: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()
    jumps: frozenset[str] = frozenset()
    tries: frozenset[str] = frozenset()
    handlers: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    assignments: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCRIPT: dict[str, Any] = {
    "functions": _words("function_declaration generator_function_declaration method_definition"),
    "classes": _words("class_declaration"),
    "calls": _words("call_expression"),
    "members": _words("member_expression subscript_expression"),
    "blocks": _words("statement_block program"),
    "ifs": _words("if_statement"),
    "loops": _words("for_in_statement for_statement while_statement do_statement"),
    "jumps": _words("return_statement throw_statement break_statement continue_statement"),
    "tries": _words("try_statement"),
    "handlers": _words("catch_clause"),
    "strings": _words("string template_string regex"),
    "lists": _words("array"),
    "assignments": _words("variable_declarator assignment_expression"),
}

PYTHON = Grammar(
    "python",
    "tree_sitter_python",
    functions=_words("function_definition"),
    classes=_words("class_definition"),
    calls=_words("call"),
    members=_words("attribute"),
    blocks=_words("block module"),
    ifs=_words("if_statement"),
    loops=_words("for_statement while_statement"),
    jumps=_words("return_statement raise_statement break_statement continue_statement"),
    tries=_words("try_statement"),
    handlers=_words("except_clause except_group_clause"),
    strings=_words("string concatenated_string"),
    lists=_words("list tuple set dictionary"),
    assignments=_words("assignment"),
)
JAVASCRIPT = Grammar("javascript", "tree_sitter_javascript", **_SCRIPT)
TYPESCRIPT = Grammar("javascript", "tree_sitter_typescript", "language_typescript", **_SCRIPT)
TSX = Grammar("javascript", "tree_sitter_typescript", "language_tsx", **_SCRIPT)
GO = Grammar(
    "go",
    "tree_sitter_go",
    functions=_words("function_declaration method_declaration"),
    calls=_words("call_expression"),
    members=_words("selector_expression"),
    blocks=_words("statement_list source_file"),
    ifs=_words("if_statement"),
    loops=_words("for_statement"),
    jumps=_words("return_statement break_statement continue_statement"),
    strings=_words("interpreted_string_literal raw_string_literal rune_literal"),
    lists=_words("composite_literal literal_value"),
    assignments=_words("short_var_declaration assignment_statement var_spec"),
)
RUST = Grammar(
    "rust",
    "tree_sitter_rust",
    functions=_words("function_item"),
    classes=_words("mod_item impl_item"),
    calls=_words("call_expression macro_invocation"),
    members=_words("field_expression"),
    blocks=_words("block declaration_list source_file"),
    ifs=_words("if_expression"),
    loops=_words("for_expression while_expression"),
    jumps=_words("return_expression break_expression continue_expression"),
    strings=_words("string_literal raw_string_literal char_literal"),
    lists=_words("array_expression tuple_expression"),
    assignments=_words("let_declaration const_item static_item"),
)
JAVA = Grammar(
    "java",
    "tree_sitter_java",
    functions=_words("method_declaration"),
    classes=_words("class_declaration"),
    calls=_words("method_invocation"),
    members=_words("field_access"),
    blocks=_words("block program"),
    ifs=_words("if_statement"),
    loops=_words("enhanced_for_statement for_statement while_statement"),
    jumps=_words("return_statement throw_statement break_statement continue_statement"),
    tries=_words("try_statement try_with_resources_statement"),
    handlers=_words("catch_clause"),
    strings=_words("string_literal character_literal"),
    lists=_words("array_initializer element_value_array_initializer"),
    assignments=_words("variable_declarator"),
)
RUBY = Grammar(
    "ruby",
    "tree_sitter_ruby",
    functions=_words("method singleton_method"),
    classes=_words("class module"),
    calls=_words("call"),
    blocks=_words("body_statement block_body then program begin"),
    ifs=_words("if unless if_modifier unless_modifier"),
    loops=_words("for while until"),
    jumps=_words("return break next"),
    tries=_words("begin body_statement"),
    handlers=_words("rescue"),
    strings=_words("string string_array symbol_array regex heredoc_body"),
    lists=_words("array hash"),
    assignments=_words("assignment"),
)

BY_ENDING = {
    ".py": PYTHON,
    ".js": JAVASCRIPT,
    ".jsx": JAVASCRIPT,
    ".mjs": JAVASCRIPT,
    ".cjs": JAVASCRIPT,
    ".ts": TYPESCRIPT,
    ".mts": TYPESCRIPT,
    ".cts": TYPESCRIPT,
    ".tsx": TSX,
    ".go": GO,
    ".rs": RUST,
    ".java": JAVA,
    ".rb": RUBY,
}


def grammar_of(path: str) -> Grammar | None:
    name = path.rsplit("/", 1)[-1]
    return BY_ENDING.get("." + name.rsplit(".", 1)[-1].lower()) if "." in name else None


@lru_cache(maxsize=16)
def language_of(grammar: Grammar) -> Any:
    from tree_sitter import Language  # noqa: PLC0415  # loads a C library: only when a test file changed

    return Language(getattr(import_module(grammar.package), grammar.entry)())


def parse(source: bytes, grammar: Grammar) -> Tree | None:
    """The tree, or None when the file does not parse cleanly."""
    from tree_sitter import Parser  # noqa: PLC0415  # see above

    # No progress callback: in the binding it ends the process. For files of a candidate there is `parse_untrusted`.
    tree = Parser(language_of(grammar)).parse(source)
    return None if tree.root_node.has_error else tree


def first_error(source: bytes, grammar: Grammar) -> int | None:
    """The line where a file stops parsing, or None when all of it does."""
    from tree_sitter import Parser  # noqa: PLC0415  # see above

    node = Parser(language_of(grammar)).parse(source).root_node
    if not node.has_error:
        return None
    while not (node.is_error or node.is_missing):
        inner = next((one for one in node.children if one.has_error or one.is_missing), None)
        if inner is None:
            break
        node = inner
    line: int = node.start_point[0] + 1
    return line
