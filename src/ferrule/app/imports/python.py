"""Imports Python functions as definition files: from their signatures and docstrings, each bound to its function.

A definition says what a tool is, so that people can read, edit and review it; `[functions] bind` says what runs it. Importing
runs the module, which only this import does.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.extension import build_extension
from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.dialects.aml_emit import format_file
from ferrule.errors import BindingError, WorkspaceError
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import FACT_NAMES, SafetyFacts, Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.constraints import find_unused_aliases
from ferrule.runtime.functions.decorators import MARK
from ferrule.runtime.functions.discovery import load_modules
from ferrule.runtime.functions.docstring import read_docstring
from ferrule.runtime.functions.factories import is_service
from ferrule.runtime.functions.inject import to_snake_case
from ferrule.runtime.functions.signature import ABSENT, is_field
from ferrule.schema.inlining import NotInlinable, unfold

_UNFIT = re.compile(r"[^a-z0-9_-]+")
_LONGEST_ID = 64
_RELEASE = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}")
_UNSAID = ("resource_locks", "requires_exclusive_context", "retry_policy", "tool_interface", "permission_profile")
"""Settings of a decorator that AML has no place for on a function."""
_READ_ONLY = SafetyFacts(is_read_only=True, is_concurrency_safe=True, is_open_world=False)


class FunctionLocation(NamedTuple):
    """The place where a function is defined."""

    file: str
    line: int


class SkippedFunction(NamedTuple):
    """A function that is not imported."""

    name: str
    place: FunctionLocation
    why: str


class ListedFunction(NamedTuple):
    """A function as read from the source text, without running anything."""

    name: str
    place: FunctionLocation
    has_docstring: bool
    is_typed: bool


class PythonImport(NamedTuple):
    """The definitions of a module's functions, and the functions without one."""

    files: dict[str, str]
    """Definitions, by their path below the workspace."""
    bind: dict[str, str]
    """For `[functions] bind`: tool ids to functions."""
    left: tuple[SkippedFunction, ...]
    notes: tuple[str, ...]
    """Details of a function that its definition states less exactly."""


def list_functions(root: Path, module: str) -> list[ListedFunction]:
    """Returns the public functions of a file, by its text alone. Raises WorkspaceError."""
    file = module if module.endswith(".py") else module.replace(".", "/") + ".py"
    path = root / file
    if not path.is_file():
        path, file = root / file.removesuffix(".py") / "__init__.py", f"{file.removesuffix('.py')}/__init__.py"
    try:
        tree = ast.parse(path.read_bytes())
    except OSError:
        raise WorkspaceError(f"there is no file of {module!r} in the workspace; name the file itself") from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise WorkspaceError(f"{file} is not Python: {error}") from None
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        ListedFunction(node.name, FunctionLocation(file, node.lineno), bool(ast.get_docstring(node)), _is_typed(node))
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def _is_typed(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(each.annotation is not None for each in (*node.args.args, *node.args.kwonlyargs))


def import_functions(
    root: Path,
    module: str,
    names: Iterable[str] = (),
    *,
    namespace: str,
    owner: str,
    out: str = "tools",
    is_read_only: bool = False,
    known: Iterable[str] = (),
) -> PythonImport:
    """Converts the functions of a module to definitions. This runs the module.

    `names`: which functions, `Class.method` too; none means every public one that the module itself defines. `is_read_only`: the
    user says that all of them only read. `known`: modules whose marked functions are tools already. Raises BindingError.
    """
    loaded = load_modules(root, [module])[0]
    chosen = list(_choose_functions(loaded, tuple(names), module))
    files: dict[str, str] = {}
    bind: dict[str, str] = {}
    left: list[SkippedFunction] = []
    notes: list[str] = []
    for name, function in chosen:
        place = locate_function(function, root)
        try:
            binding = _bind_function(function, module in set(known))
            tool = binding.with_namespace(namespace).tool
            assert tool is not None, "a function that runs somebody else's definition was refused"
            tool_id = _assign_id(tool.name, module, bind)
            described = msgspec.structs.replace(tool, description=_describe_tool(binding, tool))
            value, told = _build_front_matter(described, tool_id, namespace, owner, is_read_only)
            told += dict.fromkeys(_list_field_notes(binding))
        except (BindingError, NotInlinable) as error:
            left.append(SkippedFunction(name, place, str(error)))
            continue
        files[f"{out.strip('/')}/{tool_id}.tool.md" if out.strip("/.") else f"{tool_id}.tool.md"] = format_file(value)
        bind[tool_id] = f"{module}:{name}"
        notes += (f"{tool_id}: {note}" for note in told)
    return PythonImport(files, bind, tuple(left), tuple(notes))


def locate_function(function: object, root: Path) -> FunctionLocation:
    """Returns the place of a function's definition, relative to the workspace where it is inside."""
    inner = inspect.unwrap(function) if callable(function) else function
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    if code is None:
        return FunctionLocation("?", 0)
    file = os.path.relpath(code.co_filename, root)
    return FunctionLocation(
        code.co_filename if file.startswith("..") else file.replace(os.sep, "/"), code.co_firstlineno
    )


def _choose_functions(module: types.ModuleType, names: tuple[str, ...], shown: str) -> Iterator[tuple[str, Any]]:
    if names:
        for name in names:
            function: Any = module
            for part in name.split("."):
                function = getattr(function, part, None)
            if not callable(function):
                raise BindingError(
                    f"there is no function {name!r} in {shown!r}; 'ferrule import python {shown} --no-run' lists"
                )
            yield name, function
        return
    public = getattr(module, "__all__", None)
    for name, value in vars(module).items():
        is_wanted = name in public if isinstance(public, list | tuple) else not name.startswith("_")
        if is_wanted and _is_function(value) and not is_service(value) and _is_own(value, module, public):
            yield name, value


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType) or isinstance(_get_mark(value), Binding)


def _is_own(value: object, module: types.ModuleType, public: object) -> bool:
    # `__all__` decides; without it, functions imported from other modules are no tools.
    return isinstance(public, list | tuple) or getattr(value, "__module__", None) == module.__name__


def _get_mark(value: object) -> object:
    try:
        return vars(value).get(MARK)
    except TypeError:  # nothing that could carry one
        return None


def _bind_function(function: Callable[..., Any], is_served: bool) -> Binding:
    mark = _get_mark(function)
    if not isinstance(mark, Binding):
        return Binding(function)
    if mark.binds is not None:
        raise BindingError(f"it runs the definition {mark.binds!r} already")
    if type(mark) is not Binding:
        raise BindingError("it is a resource or a prompt, which AML has no definitions for")
    if is_served:
        raise BindingError("it is a tool already, because [functions] modules names its file; take that out first")
    return mark


def _describe_tool(binding: Binding, tool: Tool) -> str:
    """Returns the full prose of the docstring; the tool of a function itself has only the first paragraph."""
    return (
        binding.stated.description
        or read_docstring(getattr(binding.function, "__doc__", None)).prose
        or tool.description
    )


def _list_field_notes(binding: Binding) -> Iterator[str]:
    """Yields settings of pydantic's `Field` that calls ignore. Raises BindingError where every call would fail."""
    is_validated = hasattr(binding.function, "raw_function")  # by pydantic.validate_call
    passed = inspect.signature(binding.function).parameters
    for parameter in binding.signature.parameters:
        for place, alias in find_unused_aliases(parameter.field, parameter.annotation):
            if is_validated and place == parameter.field:
                raise BindingError(f"pydantic takes {place!r} by its alias {alias!r} alone; take the alias away")
            yield f"{place!r} has the alias {alias!r}, which is not used; calls write {place.rpartition('.')[2]!r}"
        if not is_validated and is_field(passed[parameter.name].default) and parameter.default is not ABSENT:
            what = f"the default of {parameter.name!r} is a Field, which the function gets as it is"
            yield f"{what}; decorate it with pydantic.validate_call, or write the default itself"


def _assign_id(name: str, module: str, taken: Iterable[str]) -> str:
    plain = _UNFIT.sub("-", to_snake_case(name)).strip("-")
    if len(plain) < 3:
        plain = f"{_UNFIT.sub('-', module.removesuffix('.py').rpartition('/')[2].rpartition('.')[2].lower())}-{plain}"
    plain = plain[:_LONGEST_ID].strip("-")
    found, number = plain, 2
    while found in taken:
        found, number = f"{plain[: _LONGEST_ID - 4]}-{number}", number + 1
    return found


def _build_front_matter(
    tool: Tool, tool_id: str, namespace: str, owner: str, is_read_only: bool
) -> tuple[JsonObject, list[str]]:
    """Returns the front matter, and notes on what it states less exactly."""
    notes: list[str] = []
    payload = msgspec.json.decode(tool.payload)
    meta: JsonObject = {"name": tool.title or _humanize(tool.name), "description": tool.description, "owner": owner}
    if tool.tags:
        meta["tags"] = list(tool.tags)
    value: JsonObject = {
        "spec_version": "1.2",
        "tool_id": tool_id,
        "version": tool.version if tool.version and _RELEASE.fullmatch(tool.version) else "0.1.0",
        "status": "active",
        "meta": meta,
        "type": "function",
        "interface": {"input": _build_input(tool, payload, notes), "output": _build_output(tool, notes)},
        "use_guidance": {},
    }
    if tool.approval_required:
        value["approval_required"] = True
    notes += [f"a definition has no {key}; keep it on the function" for key in _UNSAID if key in payload]
    extension = _build_extension(tool, value, namespace, is_read_only)
    return ({**value, EXTENSION: extension} if extension else value), notes


def _build_input(tool: Tool, payload: JsonObject, notes: list[str]) -> JsonObject:
    schema = _unfold_schema(_drop_titles(msgspec.json.decode(tool.input_schema), notes), "takes", notes)
    for word in payload.get("input_contract", {}).get("sensitive_fields", ()):
        if isinstance(schema["properties"].get(word), dict):
            schema["properties"][word]["sensitive"] = True
        else:
            notes.append(f"its sensitive field {word!r} is inside another one; mark it in the definition yourself")
    return schema


def _drop_titles(schema: JsonObject, notes: list[str]) -> JsonObject:
    """Removes the parameters' titles, which AML has no place for; a title becomes the description where there is none."""
    for name, member in schema["properties"].items():
        if "title" not in member or "properties" in member:  # the name of a class
            continue
        title = member.pop("title")
        if member.setdefault("description", title) != title:
            notes.append(f"the title {title!r} of {name!r} is left out, because it has a description")
    return schema


def _build_output(tool: Tool, notes: list[str]) -> JsonObject:
    """Returns the schema of the return value, as the member `result` of an object where it is no object."""
    if tool.output_schema is None:
        schema: JsonObject = {}
    else:
        schema = _unfold_schema(msgspec.json.decode(tool.output_schema), "gives", notes)
    if schema.get("type") == "object":
        return schema
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


def _unfold_schema(schema: JsonObject, what: str, notes: list[str]) -> JsonObject:
    found = unfold(schema)
    if found.cut:
        names = ", ".join(found.cut)
        notes.append(f"what it {what} contains itself ({names}), and is written out {found.levels} levels deep")
    return found.schema


def _build_extension(tool: Tool, value: JsonObject, namespace: str, is_read_only: bool) -> JsonObject:
    """Returns the facts that differ from what the type `function` implies, and words that AML has no key for."""
    back = compile_tool(value, namespace)
    facts, unstated = tool.facts, tool.inferred_facts
    if is_read_only:
        stated = {name: getattr(facts, name) for name in FACT_NAMES if name not in unstated}
        facts, unstated = msgspec.structs.replace(_READ_ONLY, **stated), ()
    wanted = msgspec.structs.replace(back, facts=facts, inferred_facts=unstated, search_hint=tool.search_hint)
    if is_read_only:
        wanted = msgspec.structs.replace(wanted, inferred_facts=back.inferred_facts)
    return build_extension(wanted, back, with_origin=False)


def _humanize(name: str) -> str:
    words = to_snake_case(name).replace("_", " ").strip()
    return words[:1].upper() + words[1:]
