"""Names in Go: what is reserved, and identifiers for members, choices and the types that a tree leaves unnamed."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ferrule.contracts.language import Plan
from ferrule.definitions.stubs.identifiers import ACRONYMS, Style, camel, pascal, snake

_KEYWORDS_WORDS = """
    break case chan const continue default defer else fallthrough for func go goto if import interface map package
    range return select struct switch type var
"""
KEYWORDS = frozenset(_KEYWORDS_WORDS.split())
_PREDECLARED_WORDS = """
    any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32
    float64 imag init int int16 int32 int64 int8 iota len main make max min new nil panic print println real recover
    rune string true uint uint16 uint32 uint64 uint8 uintptr
"""
_PREDECLARED = frozenset(_PREDECLARED_WORDS.split())
_PACKAGES_WORDS = """
    config context errors fmt json os slog testing tools vendor testdata internal ferruleclient
"""
_PACKAGES = frozenset(_PACKAGES_WORDS.split())
_SYSTEMS_WORDS = """
    aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows
    zos 386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc
    ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm
"""
_SYSTEMS = frozenset(_SYSTEMS_WORDS.split())
"""Where a file's name ends so, it is compiled for these alone."""
WINDOWS_NAMES = frozenset(
    ("aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))
)
"""What Windows takes for something else, whatever ending a file has; Go takes no module with such a file."""
_DECLARED = re.compile(r"^(?:func|type|var|const) ([A-Za-z]\w*)", re.MULTILINE)
_GROUPS = re.compile(r"^(?:var|const) \(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
_GROUPED = re.compile(r"^\t(\w+)", re.MULTILINE)
METHODS = frozenset(("MarshalJSON", "UnmarshalJSON"))
"""What a struct's fields may not be called."""
EXTRA, REST = "Extra", "Rest"


class Support(NamedTuple):
    """A file that stubs share."""

    name: str
    text: str
    """Without its package clause."""


@cache
def support(name: str) -> Support:
    """One of the support files."""
    text = files(__package__).joinpath("support", f"{name}.go").read_text(encoding="utf-8")
    return Support(name, text.removeprefix("package support\n"))


VALUES = (
    "json",
    "pattern_matching",
    "pattern_reading",
    "schema",
    "schema_choices",
    "schema_parts",
    "schema_references",
    "values",
    "writing",
)
"""What every package of stubs needs."""
IMPLEMENTING = ("tool",)
SERVING = ("server", "server_batches", "server_calls")
CALLING = ("answers", "client", "events", "exchange", "failures")
BUILTIN = ("builtin",)


@cache
def support_names() -> frozenset[str]:
    """All names that support files declare in their package."""
    texts = [support(each).text for each in (*VALUES, *IMPLEMENTING, *SERVING, *CALLING, *BUILTIN)]
    groups = (group for text in texts for group in _GROUPS.findall(text))
    found = {name for text in texts for name in _DECLARED.findall(text)}
    return frozenset(found.union(*map(_GROUPED.findall, groups)))


def exported(acronyms: frozenset[str] = ACRONYMS) -> Style:
    """How fields and variants are called."""
    return Style(pascal, acronyms=acronyms | ACRONYMS)


def unexported(acronyms: frozenset[str] = ACRONYMS) -> Style:
    """How injected fields and packages are called."""
    taken = KEYWORDS | _PREDECLARED
    return Style(camel, keywords=taken, acronyms=acronyms | ACRONYMS)


def package_style(acronyms: frozenset[str]) -> Style:
    """How packages of services are called: neither what any file imports nor what support files declare."""
    return Style(camel, keywords=KEYWORDS | _PREDECLARED | _PACKAGES | support_names(), acronyms=acronyms | ACRONYMS)


def folder_style() -> Style:
    """How folders of services are called."""
    return Style(snake, keywords=_PACKAGES | KEYWORDS | WINDOWS_NAMES)


def safe_stem(stem: str) -> str:
    """A name for a file that is compiled everywhere, as what it is: Go has its own idea of `x_windows.go` and `x_test.go`."""
    last = stem.rpartition("_")[2] if "_" in stem else ""
    return f"{stem}_go" if last in _SYSTEMS or last in ("test", "gen", "go") else stem


class Scope:
    """The names that one package declares."""

    def __init__(self, plan: Plan) -> None:
        self.acronyms = plan.project.acronyms | ACRONYMS
        self.has_numbers = False
        """Whether anything since this was last looked at is a `json.Number`."""
        trees = [tree for tool in plan.tools for tree in (tool.input, tool.output) if tree is not None]
        self._taken = {each.name for tree in trees for each in tree.declarations} | support_names() | {"Tools"}
        for tool in plan.tools:
            self._taken |= declared_names(tool.type_name)

    def json_import(self) -> list[str]:
        """What the types made since the last time have to import."""
        found, self.has_numbers = self.has_numbers, False
        return ["encoding/json"] if found else []

    def given(self, wanted: str) -> str:
        """A name that nobody else has: the one that is wanted, with `_` after it where another has that."""
        name = wanted
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def declared_names(type_name: str) -> set[str]:
    """What the stubs of a tool declare beside its types."""
    roots = [f"{type_name}{end}" for end in ("Input", "Output")]
    return {
        *roots,
        f"{type_name}Tool",
        f"New{type_name}Tool",
        f"Test{type_name}Handler",
        f"Test{type_name}Tool",
        *(f"{verb}{root}" for verb in ("Decode", "Encode") for root in roots),
    }
