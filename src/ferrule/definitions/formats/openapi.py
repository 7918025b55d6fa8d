"""Reads OpenAPI documents of every version (in `openapi_reading.py`), and writes them as one document of 3.1.

A tool from an OpenAPI document, and an AML tool that calls an API, is written as that operation; any other as `POST /name`
with its arguments as the body. Details that OpenAPI cannot express go into the extension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ferrule.contracts.format import DocumentTool, Reading, WriteOptions, Writing
from ferrule.definitions.content.extension import ORIGIN, build_extension, decode_raw, find_differences
from ferrule.definitions.formats.offer import report_left_out
from ferrule.definitions.formats.openapi_reading import DIALECT, OperationReader
from ferrule.definitions.formats.origins import find_original, list_own_keys
from ferrule.definitions.openapi.drafts import build_namespace
from ferrule.definitions.openapi.names import build_name, take_unique
from ferrule.definitions.openapi.operation_documents import VERSION, choose_version, insert_operation, locate_operation
from ferrule.definitions.openapi.read import METHODS, read_document, read_version
from ferrule.definitions.openapi.references import Broken
from ferrule.definitions.openapi.shape import LEFT_OUT, SYNTAX, Heading, read_object
from ferrule.definitions.openapi.writing import (
    WrittenOperation,
    build_plain_operation,
    build_rest_operation,
    describe_operation,
)
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import EXTENSION, Loss
from ferrule.model.tool import Tool, raw
from ferrule.model.value import JsonObject, JsonValue, Path
from ferrule.schema.internal_fields import internal_fields, model_schema

Read = Callable[[JsonValue, str, Mapping[str, str]], Reading]
_WHY = {
    "tool_id": "an operation is known by its id alone",
    "namespace": "a document has one title, and no namespaces",
    "version": "a document has one version for all",
    "tool_kind": "everything in a document is an operation",
    "inferred_facts": "a method says little about what a tool may do",
    "lifecycle": "an operation is deprecated or not",
    "credentials": "a security scheme does not say where its secret is kept",
    "description": "nothing in an operation says it like that",
}


class DocumentWriter:
    """Writes one document."""

    def __init__(self, tools: Sequence[Tool], options: WriteOptions, read: Read) -> None:
        self._read = read
        self._options = options
        self._out: list[Finding] = []
        self._names: dict[str, str] = {}
        self._tools = [tool for tool in tools if self._is_callable(tool)]
        self._operations: list[tuple[Tool, WrittenOperation]] = []
        self._schemas: JsonObject = {}
        self._schemes: JsonObject = {}
        self._taken: set[tuple[str, str]] = set()

    def _is_callable(self, tool: Tool) -> bool:
        if tool.exposed_as is None:
            return True
        self._out.append(report_left_out(tool, "it is a resource or a prompt, which nobody calls by an operation"))
        return False

    def write(self) -> Writing:
        """Returns the document, and its losses."""
        taken: set[str] = set()
        for tool in self._tools:
            self._operations.append((tool, self._write_operation(tool, self._choose_name(tool, taken))))
        document = self._build_document()
        back = {each.path: each.tool for each in self._read(document, "", self._names).tools}
        losses: list[Loss] = []
        for tool, written in self._operations:
            read = back.get(locate_operation(written.path, written.method))
            losses += self._add_extension(tool, written, read)
        # Read once more with the extensions in place: only what still differs is lost.
        again: dict[Path, Tool] = {}
        if not self._options.is_plain:
            again = {each.path: each.tool for each in self._read(document, "", self._names).tools}
        return Writing(document, tuple(self._settle_losses(losses, back, again)), tuple(self._out), self._names)

    def _choose_name(self, tool: Tool, taken: set[str]) -> str:
        had = find_original(tool, DIALECT)
        own = _find_operation(had.definition)[2].get("operationId") if had is not None else None
        name = take_unique(str(own or tool.name), taken)
        if name != tool.name:
            self._names[name] = tool.name
        return name

    def _write_operation(self, tool: Tool, name: str) -> WrittenOperation:
        shown = tool if not internal_fields(tool) else msgspec.structs.replace(tool, input_schema=model_schema(tool))
        for make in (_restore_operation, build_rest_operation):
            made = make(shown, name)
            if made is not None and (made.path, made.method) not in self._taken and self._is_compatible(made):
                break
        else:
            made = build_plain_operation(shown, name)
            number = 1
            while (made.path, made.method) in self._taken:
                number += 1
                made = build_plain_operation(shown, f"{name}_{number}")._replace(operation={**made.operation})
        self._taken.add((made.path, made.method))
        self._schemas |= made.schemas
        self._schemes |= made.schemes
        return made

    def _is_compatible(self, made: WrittenOperation) -> bool:
        """Returns False when a component of the same name has another content."""
        return all(self._schemas.get(name, schema) == schema for name, schema in made.schemas.items()) and all(
            self._schemes.get(name, scheme) == scheme for name, scheme in made.schemes.items()
        )

    def _build_document(self) -> JsonObject:
        spaces = {tool.namespace for tool in self._tools}
        versions = {tool.version for tool in self._tools}
        titles = {_read_info(tool).get("title") for tool in self._tools}
        title = self._options.title or (titles.pop() if len(titles) == 1 and None not in titles else None)
        title = title or (spaces.pop() if len(spaces) == 1 else "") or "Tools"
        version = versions.pop() if len(versions) == 1 else None
        servers = {written.server for _, written in self._operations}
        shared = servers.pop() if len(servers) == 1 else ""
        newest = max([VERSION, *(choose_version(each.method, each.operation) for _, each in self._operations)])
        made: JsonObject = {"openapi": newest, "info": {"title": title, "version": version or "1.0.0"}}
        if shared:
            made["servers"] = [{"url": shared}]
        paths: JsonObject = {}
        for _, written in self._operations:
            if written.server and not shared:
                written.operation["servers"] = [{"url": written.server}]
            insert_operation(paths.setdefault(written.path, {}), written.method, written.operation)
        made["paths"] = paths
        components = {
            "schemas": dict(sorted(self._schemas.items())),
            "securitySchemes": dict(sorted(self._schemes.items())),
        }
        components = {key: value for key, value in components.items() if value}
        if components:
            made["components"] = components
        return made

    def _add_extension(self, tool: Tool, written: WrittenOperation, read: Tool | None) -> list[Loss]:
        """Adds the details that an operation lacks to its extension; returns the losses."""
        if read is None:  # nothing that we write is unreadable; if it is, everything is lost
            return [_build_loss(tool, "name", "the operation cannot be read back", is_lost=True)]
        places = find_differences(tool, read)
        is_own = tool.dialect == DIALECT
        if not self._options.is_plain:
            extension = self._build_extension(tool, read)
            if extension:
                written.operation[EXTENSION] = extension
        losses = [_build_loss(tool, place, _explain(place)) for place in places]
        if not is_own:
            losses += [_build_loss(tool, key, "OpenAPI has no place for it") for key in list_own_keys(tool)]
        return losses

    def _build_extension(self, tool: Tool, read: Tool) -> JsonObject:
        if not internal_fields(tool):
            made = build_extension(tool, read)
        else:
            made = build_extension(tool, read, with_origin=False)
            made = {key: value for key, value in made.items() if key not in ("input_schema", "runtime_input_schema")}
        if (
            tool.dialect == DIALECT == read.dialect
            and ORIGIN not in made
            and decode_raw(tool.payload) != decode_raw(read.payload)
        ):
            made[ORIGIN] = {"dialect": DIALECT, "payload": decode_raw(tool.payload)}
        return dict(decode_raw(raw(made))) if made else {}

    def _settle_losses(self, losses: list[Loss], back: dict[Path, Tool], again: dict[Path, Tool]) -> list[Loss]:
        """Returns the losses, each with its replacement."""
        final: dict[str, set[str]] = {}
        kept: dict[str, bool] = {}
        for tool, written in self._operations:
            path = locate_operation(written.path, written.method)
            read = again.get(path) or back.get(path)
            final[tool.tool_id] = set(find_differences(tool, read)) if read is not None else set()
            kept[tool.tool_id] = read is not None and read.dialect == tool.dialect
        made = []
        for loss in losses:
            lost = final[loss.tool_id]
            is_word = "." in loss.field and loss.field.partition(".")[0] not in ("facts",)
            is_lost = (
                not kept[loss.tool_id] if is_word else (loss.field in lost or loss.field.partition("/")[0] in lost)
            )
            if self._options.is_plain or is_lost:
                made.append(msgspec.structs.replace(loss, instead="dropped", put=""))
            else:
                made.append(loss)
        return made


def _find_operation(definition: JsonObject) -> tuple[str, str, JsonObject]:
    """Returns the one operation of a tool's own document: its path, its method, and its value."""
    for path, item in read_object(definition, "paths").items():
        several = item if isinstance(item, dict) else {}
        for method, operation in {**several, **read_object(several, "additionalOperations")}.items():
            if isinstance(operation, dict) and method != "additionalOperations":
                return str(path), str(method), operation
    return "", "", {}


def _read_info(tool: Tool) -> JsonObject:
    had = find_original(tool, DIALECT)
    return read_object(had.definition, "info") if had is not None else {}


def _restore_operation(tool: Tool, name: str) -> WrittenOperation | None:
    """Returns a tool from OpenAPI as its original operation, with later edits."""
    had = find_original(tool, DIALECT)
    if had is None:
        return None
    path, method, operation = _find_operation(had.definition)
    if not path:
        return None
    components = read_object(had.definition, "components")
    servers = had.definition.get("servers")
    server = servers[0].get("url", "") if isinstance(servers, list) and servers and isinstance(servers[0], dict) else ""
    words = describe_operation(tool, name)
    if words.get("description") == operation.get("summary") and "description" not in operation:
        words.pop("description", None)
    if "operationId" not in operation and name == build_name(_build_heading(path, method, operation)):
        words.pop("operationId")
    rest = {key: value for key, value in operation.items() if key not in ("operationId", *_SAID)}
    return WrittenOperation(
        path,
        method.upper() if method in (*METHODS, "query") else method,
        {**words, **rest},
        str(server),
        read_object(components, "securitySchemes"),
        read_object(components, "schemas"),
    )


_SAID = ("summary", "description", "tags", "deprecated")


def _build_heading(path: str, method: str, operation: JsonObject) -> Heading:
    return Heading(method.upper(), path, "", (), operation, {}, (), ())


def _explain(place: str) -> str:
    field = place.partition("/")[0]
    if field in ("input_schema", "output_schema", "runtime_input_schema"):
        return "an operation says it in another way, or not at all"
    if field.startswith("facts."):
        return "a method does not say it"
    return _WHY.get(field, "OpenAPI has no place for it")


def _build_loss(tool: Tool, field: str, why: str, *, is_lost: bool = False) -> Loss:
    if is_lost:
        return Loss(tool_id=tool.tool_id, field=field, why=why)
    return Loss(tool_id=tool.tool_id, field=field, why=why, instead="extension", put=EXTENSION)


_PARTS = frozenset({"paths", "webhooks", "components", "info", "definitions"})


class OpenApiFormat:
    """OpenAPI documents."""

    name = DIALECT
    title = "OpenAPI"

    def detect(self, value: JsonValue) -> bool:
        """Returns True for a document with a version, and paths or other content."""
        return bool(read_version(value)) and isinstance(value, dict) and not value.keys().isdisjoint(_PARTS)

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """Reads the operations of a document. Its title gives the namespace when the caller has none."""
        try:
            document = read_document(value)
        except Broken as problem:
            return Reading((), (problem.finding,))
        space = namespace or build_namespace(document)
        reader = OperationReader(document, space, names)
        tools: list[DocumentTool] = []
        for heading in document.list_headings():
            try:
                tools.append(DocumentTool(reader.read_tool(heading), heading.path))
            except (Broken, RecursionError) as problem:
                told = f"no tool can be made of {heading.label}: {problem}"
                document.add_finding(Finding(LEFT_OUT, heading.path, told))
        if not tools and not document.findings:
            document.report(SYNTAX, ("paths",), "there are no operations in it", hint="give a document with `paths`")
        return Reading(tuple(tools), tuple(document.findings))

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """Writes a document of 3.1."""
        return DocumentWriter(tools, options, self.read).write()


FORMAT = OpenApiFormat()
