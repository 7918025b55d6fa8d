"""Names in Go: what is reserved, how identifiers are written, and the support files with the names they declare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.identifiers import ACRONYMS, Style, camel, pascal, snake

_KEYWORDS_WORDS = """
    break case chan const continue default defer else fallthrough for func go goto if import interface map package
    range return select struct switch type var
"""
_PREDECLARED_WORDS = """
    any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32
    float64 imag init int int16 int32 int64 int8 iota len main make max min new nil panic print println real recover
    rune string true uint uint16 uint32 uint64 uint8 uintptr
"""
_KEYWORDS = frozenset(_KEYWORDS_WORDS.split())
_PACKAGES_WORDS = "config context errors fmt json os slog testing tools vendor testdata internal ferruleclient"
_PACKAGES = frozenset(_PACKAGES_WORDS.split())
_RESERVED = _PACKAGES | frozenset(f"{_KEYWORDS_WORDS}{_PREDECLARED_WORDS}".split())
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
METHODS = frozenset(("MarshalJSON", "UnmarshalJSON", "Validate"))
"""What a struct's fields may not be called."""
EXTRA = "Extra"
SUPPORT = ("values", "optional", "extra", "tools", "server", "builtin", "client")


@cache
def read_support(name: str) -> str:
    """Reads a support file, without its package clause."""
    text = files(__package__).joinpath("support", f"{name}.go").read_text(encoding="utf-8")
    return text.removeprefix("package support\n")


@cache
def list_support_names() -> frozenset[str]:
    """Finds all names that support files declare in their package."""
    return frozenset(found for name in SUPPORT for found in _DECLARED.findall(read_support(name)))


def exported_style(acronyms: frozenset[str] = ACRONYMS) -> Style:
    """Returns the style of fields, variants and constants."""
    return Style(pascal, acronyms=acronyms | ACRONYMS)


def unexported_style(acronyms: frozenset[str] = ACRONYMS) -> Style:
    """Returns the style of injected fields and parameters."""
    return Style(camel, keywords=_RESERVED, acronyms=acronyms | ACRONYMS)


def folder_style() -> Style:
    """Returns the style of folders of services."""
    return Style(snake, keywords=_PACKAGES | _KEYWORDS | WINDOWS_NAMES)


def package_name(folder: str, taken: set[str]) -> str:
    """Names the package in a folder: `customerrepo` in `customer_repo`. It hides nothing that the files of tools use."""
    name = folder.replace("_", "")
    while name in taken or name in _RESERVED | list_support_names():
        name += "svc"
    taken.add(name)
    return name


def lower_first(name: str) -> str:
    """Makes `getUserID` of `GetUserID` and `urlFetcher` of `URLFetcher`: for names that stay in their package."""
    capitals = re.match(r"[A-Z]+(?=[A-Z][a-z]|[0-9]*$)|[A-Z]", name)
    return name if capitals is None else capitals[0].lower() + name[capitals.end() :]


def safe_stem(stem: str) -> str:
    """Names a file that is compiled everywhere, as what it is: Go has its own idea of `x_windows.go` and `x_test.go`."""
    last = stem.rpartition("_")[2] if "_" in stem else ""
    return f"{stem}_go" if last in _SYSTEMS or last in ("test", "gen", "go") else stem


def take_name(wanted: str, taken: set[str], ending: str = "_") -> str:
    """Takes a name that is free: the one that is wanted, with something after it where another has that."""
    while wanted in taken:
        wanted += ending
    taken.add(wanted)
    return wanted


def list_declared_names(plan: StubPlan) -> set[str]:
    """Finds all names that the types of a plan and its support files declare."""
    trees = (tree for tool in plan.tools for tree in (tool.input, tool.output) if tree is not None)
    names = {each.name for tree in trees for each in tree.declarations} | list_support_names() | {"Tools"}
    return names.union(*(_of_tool(tool.type_name) for tool in plan.tools))


def _of_tool(type_name: str) -> Iterable[str]:
    ends = ("Input", "Output", "Tool", "Handler")
    return (f"{type_name}{end}" for end in ends)
