"""An OpenAPI document as AML files that are ready to run: bytes in, texts out. Opens no file and no connection of its own.

The same document and choice give the same texts. Names are given before anything is chosen, so that they do not depend on
the choice.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.compiler.locate import build_diagnostic, locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.yaml_text import Memo
from ferrule.definitions.openapi.definition_text import Surroundings, definition_text, owner_of
from ferrule.definitions.openapi.drafts import Draft, Drafting, namespace_of
from ferrule.definitions.openapi.read import OpenApi, read_document
from ferrule.definitions.openapi.references import Broken, Load
from ferrule.definitions.openapi.shape import CHOICE, FILLED, LEFT_OUT, SYNTAX, Heading, mapping
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.diagnostic import Diagnostic, Finding, Severity
from ferrule.model.document import Document, Source
from ferrule.model.value import JsonValue
from ferrule.runtime.executors.rest.credentials import reserved_by
from ferrule.runtime.executors.rest.mapping import METHODS, BadMapping, plan_of
from ferrule.runtime.executors.rest.settings import RestTransport

Files = Callable[[str], bytes | None]
"""The bytes of a file beside the document, by its relative name; None when there is none."""
ENDING = ".tool.md"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which operations become tools, and what the document leaves open.

    An operation is taken when each list that is not empty holds something that fits it, and no list of exceptions does.
    """

    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """`/pets/*` (one segment), `/pets/**` (any)."""
    operations: tuple[str, ...] = ()
    """Ids of operations, or names of tools; `*` stands for anything."""
    methods: tuple[str, ...] = ()
    except_tags: tuple[str, ...] = ()
    except_paths: tuple[str, ...] = ()
    except_operations: tuple[str, ...] = ()
    except_methods: tuple[str, ...] = ()
    with_deprecated: bool = True
    server: str = ""
    """An address, or one of the document's servers: its number (from 1), its name or its address."""
    variables: dict[str, str] = {}
    """Of the servers."""
    client_id: str = ""
    """For OAuth's client credentials."""
    owner: str = ""
    """Who owns the tools."""
    date: str = ""
    """What deprecated tools say about when they were last updated."""


class Score(NamedTuple):
    """An import in numbers."""

    operations: int
    """In the document."""
    chosen: int
    tools: int
    left_out: int
    """Chosen, and no tool could be made of them."""
    errors: int
    warnings: int
    infos: int


class Imports:
    """What an import gives."""

    def __init__(self, files: dict[str, str], findings: list[Finding], score: Score, document: Document | None) -> None:
        self.files = files
        """Texts by file name: `list_pets.tool.md`."""
        self.findings = findings
        """What was noticed; paths are those of the document."""
        self.score = score
        self._document = document

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings at their lines, in the order of the document. Worked out when somebody asks."""
        if self._document is None:
            return []
        file = self._document.source.file
        made = [build_diagnostic(each, file, None) for each in locate(self._document, self.findings)]
        return sorted(made, key=lambda each: each.order)


class _Glob:
    """A pattern for paths or ids."""

    def __init__(self, pattern: str, one: str) -> None:
        parts = re.split(r"(\*\*|\*)", pattern.strip())
        made = "".join(".*" if part == "**" else one if part == "*" else re.escape(part) for part in parts)
        self._fits = re.compile(made, re.DOTALL).fullmatch
        self.is_used = False
        self.written = pattern

    def fits(self, text: str) -> bool:
        """True for a text that the pattern means."""
        if self._fits(text) is None:
            return False
        self.is_used = True
        return True


class _Chooser:
    """Applies a choice."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._tags = [_Glob(tag.lower(), ".*") for tag in choice.tags]
        self._paths = [_Glob(path, "[^/]*") for path in choice.paths]
        self._operations = [_Glob(each.lower(), ".*") for each in choice.operations]
        self._methods = {method.upper() for method in choice.methods}
        self._except_tags = [_Glob(tag.lower(), ".*") for tag in choice.except_tags]
        self._except_paths = [_Glob(path, "[^/]*") for path in choice.except_paths]
        self._except_operations = [_Glob(each.lower(), ".*") for each in choice.except_operations]
        self._except_methods = {method.upper() for method in choice.except_methods}
        lists = (choice.tags, choice.paths, choice.operations, choice.methods, choice.except_tags, choice.except_paths)
        self._takes_all = choice.with_deprecated and not any((*lists, choice.except_operations, choice.except_methods))

    def takes(self, heading: Heading, name: str) -> bool:
        """Whether an operation is chosen."""
        if self._takes_all:
            return True
        tags, path = [tag.lower() for tag in heading.tags], heading.template
        ids = [heading.operation_id.lower(), name]
        if self._tags and not _any(self._tags, tags):
            return False
        if self._paths and not _any(self._paths, [path]):
            return False
        if self._operations and not _any(self._operations, ids):
            return False
        if self._methods and heading.method not in self._methods:
            return False
        if not self._choice.with_deprecated and heading.value.get("deprecated") is True:
            return False
        return not (
            heading.method in self._except_methods
            or _any(self._except_tags, tags)
            or _any(self._except_paths, [path])
            or _any(self._except_operations, ids)
        )

    def unused(self) -> list[str]:
        """Patterns that fit nothing: slips of the pen, most of the time."""
        several = (
            self._tags,
            self._paths,
            self._operations,
            self._except_tags,
            self._except_paths,
            self._except_operations,
        )
        return [glob.written for globs in several for glob in globs if not glob.is_used]


def _any(globs: list[_Glob], texts: Iterable[str]) -> bool:
    """Whether some pattern fits some text. Each is asked, so that each knows whether it is of use."""
    fitting = [glob for glob in globs for text in texts if glob.fits(text)]
    return bool(fitting)


def imported(
    document: bytes, source: str, choice: Choice | None = None, namespace: str = "", files: Files | None = None
) -> Imports:
    """The tools of a document. `source`: its file or address, as shown to people; `files` reads what lies beside a local one.

    Whatever the bytes are, the answer is tools or findings, never an exception.
    """
    was_collecting = gc.isenabled()
    gc.disable()  # everything that is made here is kept until the end; looking for garbage would take a third of the time
    try:
        return _imported(document, source, choice or Choice(), namespace, files)
    finally:
        if was_collecting:
            gc.enable()


def _imported(document: bytes, source: str, choice: Choice, namespace: str, files: Files | None) -> Imports:
    documents = read(Source(_shown(source), document))
    if not documents:
        return _nothing(None, [Finding(SYNTAX, (), "the file is empty")])
    first = documents[0]
    issues = [Finding(SYNTAX, each.path, each.message, _severity(each.kind), each.hint, line=each.line, column=each.column)
              for each in first.issues]  # fmt: skip
    if not first.is_parsed:
        return _nothing(first, issues)
    try:
        opened = read_document(first.value, _loader(files), _file_name(source))
    except Broken as problem:
        return _nothing(first, [*issues, problem.finding])
    return _made(opened, first, issues, source, choice, namespace)


def _severity(kind: str) -> Severity:
    return Severity.WARNING if kind == "duplicate_key" else Severity.ERROR


def _shown(source: str) -> str:
    """A name by which the reader tells JSON from YAML; what it cannot tell by the name it tells by the first characters."""
    bare = source.partition("?")[0].partition("#")[0] if "://" in source else source
    return bare.replace("\\", "/") or "openapi"


def _file_name(source: str) -> str:
    return "" if "://" in source else source.replace("\\", "/").rsplit("/", 1)[-1]


def _loader(files: Files | None) -> Load | None:
    if files is None:
        return None

    def load(name: str) -> JsonValue:
        data = files(name)
        if data is None:
            raise KeyError(name)
        documents = read(Source(name, data))
        if not documents or not documents[0].is_parsed:
            raise KeyError(name)
        return documents[0].value

    return load


def _nothing(document: Document | None, findings: list[Finding]) -> Imports:
    return Imports({}, findings, _score(0, 0, 0, findings), document)


def _score(operations: int, chosen: int, tools: int, findings: list[Finding]) -> Score:
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
    left_out = chosen - tools
    return Score(
        operations, chosen, tools, left_out, counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.INFO]
    )


def _made(
    opened: OpenApi, first: Document, issues: list[Finding], source: str, choice: Choice, namespace: str
) -> Imports:
    space = namespace or namespace_of(opened)
    prefix = re.sub(r"[^A-Z0-9]+", "_", namespace_of(opened).upper() if opened.title else space.upper()).strip("_")
    drafting = Drafting(
        opened,
        source=source,
        server=choice.server,
        variables=choice.variables,
        client_id=choice.client_id,
        prefix=prefix,
    )
    chooser = _Chooser(choice)
    owner = choice.owner or owner_of(mapping(opened.root, "info"), space)
    around = Surroundings(opened.title, opened.api_version, owner, choice.date)
    files: dict[str, str] = {}
    memo: Memo = {}
    total = chosen = 0
    for heading in opened.headings():
        total += 1
        name = drafting.name(heading)
        if not chooser.takes(heading, name):
            continue
        chosen += 1
        try:
            draft = drafting.draft(heading, name)
            unfit = _self_test(draft)
            if unfit:
                raise Broken(Finding(LEFT_OUT, heading.path, f"no tool can be made of {heading.label}: {unfit}"))
        except Broken as problem:
            opened.keep(problem.finding)
            if problem.finding.rule != LEFT_OUT:
                opened.tell(
                    LEFT_OUT, heading.path, f"{heading.label} is left out for what is told about it", Severity.ERROR
                )
            continue
        files[f"{name}{ENDING}"] = definition_text(draft, around, memo)
    if not total:
        opened.tell(SYNTAX, ("paths",), "there are no operations in it", hint="give a document with `paths`")
    for pattern in chooser.unused():
        opened.tell(CHOICE, (), f"nothing in the document fits {pattern[:120]!r}")
    if files:
        opened.tell(
            FILLED,
            (),
            f"`use_guidance`, `side_effects` and the owner ({owner}) are filled in; read them before agents do",
            Severity.INFO,
        )
    if opened.root.get("webhooks"):
        opened.tell(
            LEFT_OUT, ("webhooks",), "webhooks are calls that the service makes; no tools come of them", Severity.INFO
        )
    findings = [*issues, *opened.findings]
    return Imports(files, findings, _score(total, chosen, len(files), findings), first)


def _self_test(draft: Draft) -> str:
    """Why the executor would refuse a tool; nothing when it takes it."""
    written = draft.transport
    if _is_plain(draft, written):
        return _address_defect(written["base_url"])
    try:
        transport = msgspec.convert(written, RestTransport)
        base = parse_url(transport.base_url)
        credentials = read_credentials(transport.credentials)
        plan_of(transport, base.path, draft.sending.schema, {}, reserved_by(credentials))
    except (msgspec.ValidationError, BadUrl, BadCredentials, BadMapping, ValueError) as error:
        return str(error)
    return ""


def _is_plain(draft: Draft, transport: Mapping[str, Any]) -> bool:
    """True for a tool of the plainest kind, which the executor cannot refuse: arguments go where they go by themselves."""
    if not transport.keys() <= _PLAIN or draft.operation.heading.method not in METHODS:
        return False
    credentials = transport["credentials"]
    if credentials["scheme"] not in ("none", "bearer-token") or "x-and" in credentials or "?" in transport["base_url"]:
        return False
    return not _ODD.search(transport["endpoint"])


_PLAIN = frozenset({"type", "base_url", "endpoint", "credentials", "x-response"})
_ODD = re.compile("[?#]")


@lru_cache(maxsize=1024)
def _address_defect(base_url: str) -> str:
    try:
        parse_url(base_url)
    except BadUrl as error:
        return str(error)
    return ""
