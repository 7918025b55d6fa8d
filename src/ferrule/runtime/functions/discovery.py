"""Finds the marked functions of modules, loads the modules themselves, and reads the names of tools from their text.

`ferrule check` runs nobody's code: it takes the names from the text of the files (`names_in`). The app loads the
modules and collects bindings. Stands above `decorators.py` and `factories.py`; does not know calls.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.decorators import MARK
from ferrule.runtime.functions.factories import is_service
from ferrule.runtime.functions.signature import LOADED_FROM


def functions_in(source: object, namespace: str | None = None) -> list[Binding]:
    """Collects the bindings in a module, a marked function, a `Binding`, or any mixture of these, each once, in
    order. Skips services.

    `namespace` is for tools that state none; without it, it is the name of the function's module.
    """
    found: dict[int, Binding] = {}
    for binding in _collect_bindings(source):
        found.setdefault(id(binding), binding)
    return [one for binding in found.values() for one in binding.with_namespace(namespace).with_companions()]


def _collect_bindings(source: object) -> Iterable[Binding]:
    if isinstance(source, Binding):
        return [source]
    if isinstance(source, ModuleType):
        return [binding for value in vars(source).values() if isinstance(binding := _read_mark(value), Binding)]
    binding = _read_mark(source)
    if isinstance(binding, Binding):
        return [binding]
    if is_service(source):
        return []
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return [binding for member in source for binding in _collect_bindings(member)]
    raise BindingError(f"{source!r} is not a tool; mark the function with @ferrule.tool, or pass its module")


def _read_mark(value: object) -> object:
    try:
        return vars(value).get(MARK)
    except TypeError:  # nothing that could carry one
        return None


def bind_functions(root: Path, bind: Mapping[str, str], paths: Iterable[str] = ()) -> list[Binding]:
    """Binds the functions that settings name to definitions: `refund-order = "shop.orders:refund"`, or a workspace
    file before the colon. Raises BindingError."""
    found = []
    modules: dict[str, ModuleType] = {}
    for tool, reference in bind.items():
        where, _, name = reference.rpartition(":")
        if not where or not name:
            raise BindingError(f"[functions] bind of {tool!r} must be 'module:function', not {reference!r}")
        if where not in modules:  # once: a file that ran twice would have two of each of its classes
            modules[where] = load_modules(root, [where], paths)[0]
        function: Any = modules[where]
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is None:
            raise BindingError(f"[functions] bind of {tool!r}: there is no {name!r} in {where!r}; correct it")
        found.append(_bind_function(tool, function))
    return found


def _bind_function(tool: str, function: Any) -> Binding:
    """Binds a function to a tool; options of its own mark about running it still count."""
    mark = _read_mark(function)
    if not isinstance(mark, Binding):
        return Binding(function, binds=tool)
    return Binding(
        function,
        binds=tool,
        inline=mark.inline,
        check=mark.check,
        resume=mark.resume,
        isolation=mark.isolation,
        env=mark.env,
    )


def load_modules(root: Path, names: Iterable[str], paths: Iterable[str] = ()) -> list[ModuleType]:
    """Loads modules by name: files (`tools/orders.py`) of the workspace, or importable modules. Raises BindingError.

    With any of them `paths` and the workspace's folder can be imported from, from then on, after everything else.
    """
    names = tuple(names)
    for folder in (str((root / path).resolve()) for path in (*paths, ".")):
        if names and folder not in sys.path:
            sys.path.append(folder)
    return [_load_file(root, name) if name.endswith(".py") else _import(name) for name in names]


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # a module that exits would take the whole process with it, without a word
        raise BindingError(f"the module {name!r} cannot be imported: {type(error).__name__}: {error}") from error


def _load_file(root: Path, name: str) -> ModuleType:
    file = (root / name).resolve()
    if not file.is_file():
        raise BindingError(f"there is no file {name!r} in the workspace; correct its name in ferrule.toml")
    dotted = name.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    # The hash keeps files of the same name in two workspaces apart in `sys.modules`.
    known = f"{LOADED_FROM}{sha256(str(file).encode()).hexdigest()[:12]}.{dotted}"
    spec = spec_from_file_location(known, file)
    if spec is None or spec.loader is None:
        raise BindingError(f"{name!r} is no Python file")
    module = module_from_spec(spec)
    sys.modules[known] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        # A module that failed half-way must not be found by the next import.
        del sys.modules[known]
        raise BindingError(f"the file {name!r} cannot be run: {type(error).__name__}: {error}") from error
    return module


def read_tool_names(root: Path, modules: Iterable[str]) -> frozenset[str] | None:
    """Reads the names of these modules' tools; None when files of the workspace do not tell them."""
    found: set[str] = set()
    for module in modules:
        try:
            found.update(_find_names(ast.parse((root / module).read_bytes())))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None
    return frozenset(found)


def _find_names(tree: ast.AST) -> Iterator[str]:
    """Yields each marked function's own name, and every text in its marks: only running the file tells which of them
    counts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list:
            yield node.name
            for mark in node.decorator_list:
                texts = (part.value for part in ast.walk(mark) if isinstance(part, ast.Constant))
                yield from (text for text in texts if isinstance(text, str))
