"""Converts an OpenAPI document to AML files that are ready to run: bytes in, texts out. Opens no file and no connection.

The same document and choice give the same texts. Names are assigned before operations are chosen, so that they do not depend
on the choice.
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
from ferrule.definitions.openapi.definition_text import DocumentContext, find_owner, write_definition
from ferrule.definitions.openapi.drafts import Drafter, OperationDraft, build_namespace
from ferrule.definitions.openapi.read import OpenApi, read_document
from ferrule.definitions.openapi.references import Broken, Load
from ferrule.definitions.openapi.shape import CHOICE, FILLED, LEFT_OUT, SYNTAX, Heading, read_object
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


class OperationChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The operations to import, and the values that the document leaves open.

    An operation is chosen when it matches each list that is not empty, and no exception.
    """

    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """`/pets/*` (one segment), `/pets/**` (any)."""
    operations: tuple[str, ...] = ()
    """Ids of operations, or names of tools; `*` matches anything."""
    methods: tuple[str, ...] = ()
    except_tags: tuple[str, ...] = ()
    except_paths: tuple[str, ...] = ()
    except_operations: tuple[str, ...] = ()
    except_methods: tuple[str, ...] = ()
    with_deprecated: bool = True
    server: str = ""
    """An address, or one of the document's servers: its number (from 1), its name or its address."""
    variables: dict[str, str] = {}
    """Values of the servers' variables."""
    client_id: str = ""
    """For OAuth's client credentials."""
    owner: str = ""
    """The owner of the tools."""
    date: str = ""
    """The date of the last update that deprecated tools get."""


class ImportCounts(NamedTuple):
    """The counts of an import."""

    operations: int
    """In the document."""
    chosen: int
    tools: int
    left_out: int
    """Chosen, but no tool could be made of them."""
    errors: int
    warnings: int
    infos: int


class OpenApiImport:
    """The files of an import, and its findings."""

    def __init__(
        self, files: dict[str, str], findings: list[Finding], score: ImportCounts, document: Document | None
    ) -> None:
        self.files = files
        """Texts by file name: `list_pets.tool.md`."""
        self.findings = findings
        """Paths are those of the document."""
        self.score = score
        self._document = document

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings at their lines, in the order of the document. Located on first use."""
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

    def matches(self, text: str) -> bool:
        """Returns True for a text that the pattern matches."""
        if self._fits(text) is None:
            return False
        self.is_used = True
        return True


class _OperationFilter:
    """Decides which operations are imported, and remembers which patterns matched."""

    def __init__(self, choice: OperationChoice) -> None:
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

    def accepts(self, heading: Heading, name: str) -> bool:
        """Returns True for an operation to import."""
        if self._takes_all:
            return True
        tags, path = [tag.lower() for tag in heading.tags], heading.template
        ids = [heading.operation_id.lower(), name]
        if self._tags and not _matches_any(self._tags, tags):
            return False
        if self._paths and not _matches_any(self._paths, [path]):
            return False
        if self._operations and not _matches_any(self._operations, ids):
            return False
        if self._methods and heading.method not in self._methods:
            return False
        if not self._choice.with_deprecated and heading.value.get("deprecated") is True:
            return False
        return not (
            heading.method in self._except_methods
            or _matches_any(self._except_tags, tags)
            or _matches_any(self._except_paths, [path])
            or _matches_any(self._except_operations, ids)
        )

    def list_unused(self) -> list[str]:
        """Returns patterns that matched nothing: usually typing errors."""
        several = (
            self._tags,
            self._paths,
            self._operations,
            self._except_tags,
            self._except_paths,
            self._except_operations,
        )
        return [glob.written for globs in several for glob in globs if not glob.is_used]


def _matches_any(globs: list[_Glob], texts: Iterable[str]) -> bool:
    """Returns True if a pattern matches a text."""
    # No short cut: every pattern is tried, so that each knows whether it ever matched.
    fitting = [glob for glob in globs for text in texts if glob.matches(text)]
    return bool(fitting)


def import_document(
    document: bytes, source: str, choice: OperationChoice | None = None, namespace: str = "", files: Files | None = None
) -> OpenApiImport:
    """Imports the operations of a document. `source`: its file or address, for display; `files` reads files beside a local one.

    Bytes of any kind give tools or findings, never an exception.
    """
    was_collecting = gc.isenabled()
    gc.disable()  # everything made here is kept until the end; collecting garbage would take a third of the time
    try:
        return _import_document(document, source, choice or OperationChoice(), namespace, files)
    finally:
        if was_collecting:
            gc.enable()


def _import_document(
    document: bytes, source: str, choice: OperationChoice, namespace: str, files: Files | None
) -> OpenApiImport:
    documents = read(Source(_build_file_name(source), document))
    if not documents:
        return _build_empty(None, [Finding(SYNTAX, (), "the file is empty")])
    first = documents[0]
    issues = [Finding(SYNTAX, each.path, each.message, _classify_issue(each.kind), each.hint, line=each.line, column=each.column)
              for each in first.issues]  # fmt: skip
    if not first.is_parsed:
        return _build_empty(first, issues)
    try:
        opened = read_document(first.value, _make_loader(files), _file_name(source))
    except Broken as problem:
        return _build_empty(first, [*issues, problem.finding])
    return _import_operations(opened, first, issues, source, choice, namespace)


def _classify_issue(kind: str) -> Severity:
    return Severity.WARNING if kind == "duplicate_key" else Severity.ERROR


def _build_file_name(source: str) -> str:
    """Returns a name whose ending tells the reader JSON from YAML; without one, it looks at the first characters."""
    bare = source.partition("?")[0].partition("#")[0] if "://" in source else source
    return bare.replace("\\", "/") or "openapi"


def _file_name(source: str) -> str:
    return "" if "://" in source else source.replace("\\", "/").rsplit("/", 1)[-1]


def _make_loader(files: Files | None) -> Load | None:
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


def _build_empty(document: Document | None, findings: list[Finding]) -> OpenApiImport:
    return OpenApiImport({}, findings, _count_outcome(0, 0, 0, findings), document)


def _count_outcome(operations: int, chosen: int, tools: int, findings: list[Finding]) -> ImportCounts:
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
    left_out = chosen - tools
    return ImportCounts(
        operations, chosen, tools, left_out, counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.INFO]
    )


def _import_operations(
    opened: OpenApi, first: Document, issues: list[Finding], source: str, choice: OperationChoice, namespace: str
) -> OpenApiImport:
    space = namespace or build_namespace(opened)
    prefix = re.sub(r"[^A-Z0-9]+", "_", build_namespace(opened).upper() if opened.title else space.upper()).strip("_")
    drafting = Drafter(
        opened,
        source=source,
        server=choice.server,
        variables=choice.variables,
        client_id=choice.client_id,
        prefix=prefix,
    )
    chooser = _OperationFilter(choice)
    owner = choice.owner or find_owner(read_object(opened.root, "info"), space)
    around = DocumentContext(opened.title, opened.api_version, owner, choice.date)
    files: dict[str, str] = {}
    memo: Memo = {}
    total = chosen = 0
    for heading in opened.list_headings():
        total += 1
        name = drafting.choose_name(heading)
        if not chooser.accepts(heading, name):
            continue
        chosen += 1
        try:
            draft = drafting.draft(heading, name)
            unfit = _why_refused(draft)
            if unfit:
                raise Broken(Finding(LEFT_OUT, heading.path, f"no tool can be made of {heading.label}: {unfit}"))
        except Broken as problem:
            opened.add_finding(problem.finding)
            if problem.finding.rule != LEFT_OUT:
                opened.report(
                    LEFT_OUT, heading.path, f"{heading.label} is left out because of the finding above", Severity.ERROR
                )
            continue
        files[f"{name}{ENDING}"] = write_definition(draft, around, memo)
    if not total:
        opened.report(SYNTAX, ("paths",), "there are no operations in it", hint="give a document with `paths`")
    for pattern in chooser.list_unused():
        opened.report(CHOICE, (), f"no operation matches {pattern[:120]!r}")
    if files:
        opened.report(
            FILLED,
            (),
            f"`use_guidance`, `side_effects` and the owner ({owner}) are filled in; review them before agents use the tools",
            Severity.INFO,
        )
    if opened.root.get("webhooks"):
        opened.report(
            LEFT_OUT, ("webhooks",), "webhooks are calls that the service makes, so they become no tools", Severity.INFO
        )
    findings = [*issues, *opened.findings]
    return OpenApiImport(files, findings, _count_outcome(total, chosen, len(files), findings), first)


def _why_refused(draft: OperationDraft) -> str:
    """Returns why the executor would refuse a tool; nothing when it accepts it."""
    written = draft.transport
    # Most tools end here; building the executor's plan for each would dominate a large import.
    if _is_plain(draft, written):
        return _why_bad_address(written["base_url"])
    try:
        transport = msgspec.convert(written, RestTransport)
        base = parse_url(transport.base_url)
        credentials = read_credentials(transport.credentials)
        plan_of(transport, base.path, draft.request.schema, {}, reserved_by(credentials))
    except (msgspec.ValidationError, BadUrl, BadCredentials, BadMapping, ValueError) as error:
        return str(error)
    return ""


def _is_plain(draft: OperationDraft, transport: Mapping[str, Any]) -> bool:
    """Returns True for a tool whose arguments all go to their default places, so that the executor cannot refuse it."""
    if not transport.keys() <= _PLAIN or draft.operation.heading.method not in METHODS:
        return False
    credentials = transport["credentials"]
    if credentials["scheme"] not in ("none", "bearer-token") or "x-and" in credentials or "?" in transport["base_url"]:
        return False
    return not _ODD.search(transport["endpoint"])


_PLAIN = frozenset({"type", "base_url", "endpoint", "credentials", "x-response"})
_ODD = re.compile("[?#]")


@lru_cache(maxsize=1024)
def _why_bad_address(base_url: str) -> str:
    try:
        parse_url(base_url)
    except BadUrl as error:
        return str(error)
    return ""
