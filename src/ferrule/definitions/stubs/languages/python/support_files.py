"""The files that stubs are copied together with."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ferrule.contracts.language import SourceFile
from ferrule.definitions.stubs.languages.python.type_module import GENERATED

_READING = ("json_text", "machines", "patterns", "schema", "limits", "alternatives", "checking", "layouts", "shapes")
_CALLING = ("http", "sse", "errors", "answers", "calls", "sync")


def support_files(folder: str, flavour: str, *, is_client: bool, has_builtins: bool = False) -> list[SourceFile]:
    """The package in that folder."""
    names = [*_READING, *(_CALLING if is_client else ("registering",))]
    names += ["unset"] if flavour == "dataclass" else []
    names += ["builtin_tools"] if has_builtins else []
    copied = [SourceFile(f"{folder}/{name}.py", _copied(name), "generated") for name in names]
    records = SourceFile(f"{folder}/records.py", _copied(f"records_{flavour}"), "generated")
    first = f'{GENERATED}\n"""What stubs share: reading, checking and writing of values."""\n'
    return [SourceFile(f"{folder}/__init__.py", first, "generated"), *copied, records]


@cache
def _copied(name: str) -> str:
    text = (
        files("ferrule.definitions.stubs.languages.python.support").joinpath(f"{name}.py").read_text(encoding="utf-8")
    )
    return f"{GENERATED}\n{text}"
