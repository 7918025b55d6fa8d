"""The table of error codes is what the sources emit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import ferrule
from ferrule.model.error_codes import CODES, EXPLANATIONS, TOOL_CODES
from ferrule.model.failure import BLOCK_CLASSES, ERROR_CLASSES
from ferrule.model.lifecycle import PHASES

SOURCES = Path(ferrule.__file__).parent
CODE_PLACE = {"Stop": 2, "ArgumentProblem": 1, "_refuse": 1}
"""Where the code stands among the arguments of what makes an error."""
MAKERS = {
    "violation": "sandbox_violation",
    "bad_arguments": "invalid_arguments",
    "_unavailable": "dependency_unavailable",
}
"""What makes a tool's failure of one class, with the code as its second argument."""
ROWS = {"FailureKind": 1, "UpstreamProblem": 2, "_network_failure": 2}
"""Rows of the tables of executors: where the code stands. The class is their first argument."""
BLOCKED = "changed_tool_failure"
"""What refuses a tool of an MCP server that changed; its code is an argument with a default."""
_CODE = re.compile(r"[a-z]+(_[a-z]+)+")


def texts(node: ast.expr | None, named: dict[str, str]) -> list[str]:
    """The texts an expression can be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return texts(node.body, named) + texts(node.orelse, named)
    return [named[node.id]] if isinstance(node, ast.Name) and node.id in named else []


def named_texts(tree: ast.Module) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def emitted() -> Iterator[tuple[str, str]]:
    """Class and code of every error the sources make. What servers tell of requests that are no calls has codes of its own, and
    what languages bring along is no part of Ferrule."""
    for path in SOURCES.rglob("*.py"):
        if path.is_relative_to(SOURCES / "servers") or path.is_relative_to(
            SOURCES / "definitions" / "stubs" / "languages"
        ):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = named_texts(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            for said in node.keywords:  # of a hook that stops a call
                yield from (("hook_blocked", code) for code in texts(said.value, named) if said.arg == "stop_code")
            name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
            place = CODE_PLACE.get(name)
            if place is None or len(node.args) <= place:
                continue
            classes = texts(node.args[0], named) if name == "Stop" else ["schema_validation_failed"]
            yield from ((kind, code) for kind in classes for code in texts(node.args[place], named))


def given_by_tools() -> Iterator[tuple[str, str]]:
    """Class and code of every failure that what runs tools can raise."""
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = named_texts(tree)
        for node in ast.walk(tree):
            found = of_tuple(node) if isinstance(node, ast.Tuple) else of_call(node, named)
            yield from ((kind, code) for kind, code in found if kind != code)


def of_call(node: ast.AST, named: dict[str, str]) -> Iterator[tuple[str, str]]:
    """`ExecutionFailed(class, message, code=…)`, what stands for it, and the defaults of records and functions."""
    match node:
        case ast.ClassDef():
            yield from of_record(node)
        case ast.FunctionDef(name=name) if name == BLOCKED:
            yield from (("policy_blocked", code) for each in node.args.defaults for code in texts(each, named))
        case ast.Call():
            name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
            said = {keyword.arg: keyword.value for keyword in node.keywords}
            if name == "__init__" and node.args and "code" in said:  # of a subclass of ExecutionFailed
                for kind in texts(node.args[0], named):
                    yield from ((kind, code) for code in texts(said["code"], named) if kind in ERROR_CLASSES)
            elif name in ("ExecutionFailed", "ToolFailed"):
                kinds = texts(node.args[0] if name == "ExecutionFailed" else said.get("error_class"), named)
                kinds = kinds or (["execution_failed"] if name == "ToolFailed" else [])
                yield from ((kind, code) for kind in kinds for code in texts(said.get("code"), named))
            elif name == BLOCKED:
                yield from (("policy_blocked", code) for code in texts(said.get("code"), named))
            elif name in MAKERS and len(node.args) > 1:
                yield from ((MAKERS[name], code) for code in texts(node.args[1], named))
            elif name in ROWS:
                yield from of_row(node, ROWS[name], named)


def of_row(node: ast.Call, place: int, named: dict[str, str]) -> Iterator[tuple[str, str]]:
    """A record of a table of failures. One that holds nothing but words of a vocabulary is none."""
    if len(node.args) > place and any(" " in text for each in node.args for text in texts_of_any(each, named)):
        for kind in texts(node.args[0], named):
            yield from ((kind, code) for code in texts(node.args[place], named) if kind in ERROR_CLASSES)


def texts_of_any(node: ast.expr, named: dict[str, str]) -> list[str]:
    """Like `texts`; what is put together as the program runs counts as a sentence."""
    return texts(node, named) or ([" "] if isinstance(node, ast.JoinedStr | ast.Name) else [])


def of_record(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The defaults of a record that has a class and a code."""
    defaults = {
        each.target.id: each.value.value
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and isinstance(each.value, ast.Constant)
    }
    kind, code = defaults.get("error_class"), defaults.get("code")
    if isinstance(kind, str) and isinstance(code, str):
        yield kind, code


def of_tuple(node: ast.Tuple) -> Iterator[tuple[str, str]]:
    """A row of a table: a class and a code, or these and a message, the last two in either order."""
    match [each.value if isinstance(each, ast.Constant) else None for each in node.elts]:
        case [str() as kind, str() as code] if kind in ERROR_CLASSES and code not in ERROR_CLASSES:
            if _CODE.fullmatch(code):
                yield kind, code
        case [str() as kind, one, other] if kind in ERROR_CLASSES:
            if any(isinstance(word, str) and word.isalpha() for word in (one, other)):
                return  # words of a vocabulary, and no message among them
            codes = [word for word in (one, other) if isinstance(word, str) and _CODE.fullmatch(word)]
            if len(codes) == 1:
                yield kind, codes[0]


def test_at_238_every_code_of_a_tool_is_in_a_table_and_the_other_way_round() -> None:
    """AT-238: of built-in tools, declared programs, streams, functions, transports and credentials too."""
    known = {(kind, code) for table in (CODES, TOOL_CODES) for kind, codes in table.items() for code in codes}
    listed = {(kind, code) for kind, codes in TOOL_CODES.items() for code in codes}
    found = {*given_by_tools()}
    assert not found - known
    assert not listed - found


def test_at_238_every_code_is_told_in_a_sentence_once() -> None:
    """AT-238: and no class has one code in both tables."""
    for kind, codes in TOOL_CODES.items():
        assert not set(codes) & set(CODES.get(kind, {})), kind
    for table in (CODES, TOOL_CODES):
        for codes in table.values():
            assert all(code.replace("_", "").islower() and len(text.split()) > 2 for code, text in codes.items())


def test_at_238_every_code_that_is_emitted_is_in_the_table_and_the_other_way_round() -> None:
    """AT-238: a code that appears, vanishes or is renamed shows here."""
    held = {(kind, reason) for reason, kind in BLOCK_CLASSES.items() if reason != kind}
    assert {*emitted()} | held == {(kind, code) for kind, codes in CODES.items() for code in codes}


def test_at_238_the_contract_pages_names_have_their_classes() -> None:
    """AT-238: names that the standard's contract page has and its list of classes has not (D-2)."""
    assert "input_mutation_failed" in CODES["invalid_arguments"]
    assert "hook_failed" in CODES["hook_blocked"]
    assert "result_mapping_failed" in CODES["execution_failed"]
    assert "post_hook_failed" in CODES["partial_failure"]
    # The place of `blocked_tool` is taken by the reason the surface gives.


def test_every_class_is_explained() -> None:
    """AT-245: in words, with the phases it comes from in their order."""
    assert tuple(EXPLANATIONS) == ERROR_CLASSES
    for kind, explanation in EXPLANATIONS.items():
        assert explanation.text, kind
        assert list(explanation.phases) == sorted(explanation.phases, key=PHASES.index), kind
