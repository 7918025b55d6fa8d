"""Reads a document of any version into operations. A broken part is reported, and the rest stays usable.

Reading is lazy: a heading is cheap, an operation is read completely on request, a reference is followed once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.definitions.openapi.operation_parts import read_answers, read_body, read_parameters
from ferrule.definitions.openapi.references import REFERENCE, Broken, Load, References, make_broken
from ferrule.definitions.openapi.shape import (
    SYNTAX,
    Heading,
    Operation,
    OperationParameter,
    OperationResponse,
    Server,
    Version,
    read_object,
    read_text,
)
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, JsonValue, Path, type_name

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_UNREAD: tuple[JsonObject, ...] = ({"": []},)
_MOST_FINDINGS = 5_000
_VERSIONS: dict[str, Version] = {"3.0": "3.0", "3.1": "3.1", "3.2": "3.2"}


class OpenApi:
    """One document, with the findings about it."""

    def __init__(self, root: JsonObject, version: Version, references: References) -> None:
        self.root = root
        self.version = version
        self.references = references
        self.findings: list[Finding] = []
        self._told: set[tuple[str, Path, str]] = set()
        info = read_object(root, "info")
        self.title = " ".join(read_text(info, "title").split())
        self.api_version = read_text(info, "version")
        self.description = read_text(info, "description")
        self._own_servers: tuple[Server, ...] | None = None
        self._own_security: tuple[JsonObject, ...] | None = _UNREAD
        self.parameters: dict[int | str, OperationParameter] = {}
        """The parameters read so far, by where they are written: many operations share one."""
        self.converted_parameters: dict[int, tuple[JsonObject, JsonObject, OperationParameter]] = {}
        """The converted parameters, by their ids: a schema, and the entry in `x-mapping`."""
        self.answers: dict[tuple[str, int | str], OperationResponse] = {}
        """The responses read so far."""

    def report(
        self, rule: str, path: Path, message: str, severity: Severity = Severity.WARNING, hint: str | None = None
    ) -> None:
        """Reports a finding, once."""
        self.add_finding(Finding(rule, path, message, severity, hint))

    def add_finding(self, finding: Finding) -> None:
        """Adds a finding, once. Above a limit only one more is added, which reports the limit."""
        mark = (finding.rule, finding.path, finding.message)
        if mark in self._told or len(self._told) > _MOST_FINDINGS:
            return
        self._told.add(mark)
        if len(self._told) > _MOST_FINDINGS:
            finding = Finding(
                SYNTAX, (), f"more than {_MOST_FINDINGS:,} findings; the rest is omitted", Severity.WARNING
            )
        self.findings.append(finding)

    def resolve(self, value: object, path: Path, what: str) -> tuple[JsonObject, Path]:
        """Returns an object of the document and its path, references followed. Raises Broken."""
        if isinstance(value, dict) and "$ref" in value:
            target = self.references.follow(value["$ref"], path)
            if not isinstance(target.value, dict):
                raise make_broken(
                    REFERENCE, (*path, "$ref"), f"the reference leads to {type_name(target.value)}, not to {what}"
                )
            beside = {key: value[key] for key in ("summary", "description") if isinstance(value.get(key), str)}
            # A target in another file has no path here, so its findings stay at the reference.
            return ({**target.value, **beside} if beside else target.value), target.path or path
        if not isinstance(value, dict):
            raise make_broken(SYNTAX, path, f"{what} must be an object, not {type_name(value)}")
        return value, path

    def list_headings(self) -> Iterator[Heading]:
        """Yields every operation, in the order of the document."""
        paths = self.root.get("paths", {})
        if not isinstance(paths, dict):
            self.report(SYNTAX, ("paths",), f"`paths` must be an object, not {type_name(paths)}", Severity.ERROR)
            return
        for template, written in paths.items():
            path: Path = ("paths", template)
            if not isinstance(template, str) or not template.startswith("/"):
                if not str(template).startswith("x-"):
                    self.report(SYNTAX, path, f"the path {template!r} does not begin with a slash; it is ignored")
                continue
            try:
                item, item_path = self._read_item(written, path)
            except Broken as problem:
                self.add_finding(problem.finding)
                continue
            for method, value, place in self._list_methods(item, item_path):
                yield self._build_heading(method, template, value, item, place, item_path)

    def _read_item(self, written: object, path: Path) -> tuple[JsonObject, Path]:
        if isinstance(written, dict) and "$ref" in written:
            item, at = self.resolve(written, path, "a path item")
            # OpenAPI allows other members beside the reference of a path item.
            beside = {key: value for key, value in written.items() if key != "$ref"}
            return {**item, **beside}, at
        return self.resolve(written, path, "a path item")

    def _list_methods(self, item: JsonObject, path: Path) -> Iterator[tuple[str, JsonObject, Path]]:
        names = (*METHODS, "query") if self.version == "3.2" else METHODS
        found = [(name.upper(), item[name], (*path, name)) for name in item if name in names]
        if self.version == "3.2":
            more = item.get("additionalOperations")
            if isinstance(more, dict):
                found += [(str(name), value, (*path, "additionalOperations", name)) for name, value in more.items()]
        for method, value, place in found:
            if isinstance(value, dict):
                yield method, value, place
            else:
                self.report(
                    SYNTAX, place, f"an operation must be an object, not {type_name(value)}; it is ignored",
                    Severity.ERROR,
                )  # fmt: skip

    def _build_heading(
        self, method: str, template: str, value: JsonObject, item: JsonObject, path: Path, item_path: Path
    ) -> Heading:
        tags = value.get("tags")
        named = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
        return Heading(method, template, _read_operation_id(value), named, value, item, path, item_path)

    def read_operation(self, heading: Heading) -> Operation:
        """Reads one operation. Raises Broken when no tool can be made of it."""
        value, path = heading.value, heading.path
        parameters = read_parameters(self, heading)
        return Operation(
            heading,
            read_text(value, "summary") or read_text(heading.item, "summary"),
            read_text(value, "description") or read_text(heading.item, "description"),
            value.get("deprecated") is True,
            parameters,
            read_body(self, heading),
            read_answers(self, heading),
            self._read_security(value, path),
            self._find_servers(heading),
            read_text(read_object(value, "externalDocs"), "url") if "externalDocs" in value else "",
        )

    def _read_security(self, value: JsonObject, path: Path) -> tuple[JsonObject, ...] | None:
        if value.get("security") is not None:
            return self._read_alternatives(value["security"], (*path, "security"))
        # None means that the document requires nothing, so another value marks `not read yet`.
        if self._own_security is _UNREAD:
            self._own_security = self._read_alternatives(self.root.get("security"), ("security",))
        return self._own_security

    def _read_alternatives(self, said: object, path: Path) -> tuple[JsonObject, ...] | None:
        if said is None:
            return None
        if not isinstance(said, list):
            self.report(SYNTAX, path, f"`security` must be a list, not {type_name(said)}; it is ignored")
            return None
        return tuple(each for each in said if isinstance(each, dict))

    @property
    def security_schemes(self) -> tuple[JsonObject, Path]:
        """The security schemes by name, and their path."""
        if self.version == "2.0":
            return read_object(self.root, "securityDefinitions"), ("securityDefinitions",)
        return read_object(read_object(self.root, "components"), "securitySchemes"), ("components", "securitySchemes")

    def _find_servers(self, heading: Heading) -> tuple[Server, ...]:
        """Returns the servers of an operation: its own, those of its path, or those of the document."""
        if self.version == "2.0":
            if "schemes" in heading.value:
                return _list_hosts(self.root, heading.value.get("schemes"))
        else:
            for owner, path in ((heading.value, heading.path), (heading.item, heading.item_path)):
                found = self._read_servers(owner, path)
                if found:
                    return found
        if self._own_servers is None:
            self._own_servers = (
                _list_hosts(self.root, self.root.get("schemes"))
                if self.version == "2.0"
                else self._read_servers(self.root, ())
            )
        return self._own_servers

    def _read_servers(self, owner: JsonObject, path: Path) -> tuple[Server, ...]:
        written = owner.get("servers")
        if written is None:
            return ()
        if not isinstance(written, list):
            self.report(SYNTAX, (*path, "servers"), f"`servers` must be a list, not {type_name(written)}")
            return ()
        found = []
        for index, each in enumerate(written):
            if isinstance(each, dict) and isinstance(each.get("url"), str):
                found.append(
                    Server(
                        each["url"],
                        read_object(each, "variables"),
                        read_text(each, "description"),
                        read_text(each, "name"),
                        (*path, "servers", index),
                    )
                )
            else:
                self.report(SYNTAX, (*path, "servers", index), "a server needs a `url`; it is ignored")
        return tuple(found)


def _read_operation_id(operation: JsonObject) -> str:
    """Returns the id as written, outer spaces included; nothing for a blank one."""
    said = read_text(operation, "operationId")
    return said if said.strip() else ""


def _list_hosts(root: JsonObject, schemes: object) -> tuple[Server, ...]:
    """Returns the addresses of a Swagger document, HTTPS first."""
    host, base = read_text(root, "host").strip("/"), read_text(root, "basePath")
    said = [scheme for scheme in schemes if isinstance(scheme, str)] if isinstance(schemes, list) else []
    said = [scheme for scheme in said if scheme in ("https", "http")] or (["https"] if host else [])
    said.sort(key=lambda scheme: scheme != "https")
    if not host:
        return (Server(base, {}, "", "", ("basePath",)),) if base else ()
    return tuple(Server(f"{scheme}://{host}{base}", {}, "", "", ("host",)) for scheme in said)


def read_version(value: JsonValue) -> str:
    """Returns the version that a document states: `2.0`, `3.1`, …; empty for anything but an OpenAPI document."""
    if not isinstance(value, dict):
        return ""
    said = value.get("openapi", value.get("swagger"))
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return ""
    return ".".join((str(said).strip() + ".0").split(".")[:2])


def read_document(value: JsonValue, load: Load | None = None, file_name: str = "") -> OpenApi:
    """Opens a document. `load` reads files beside it, `file_name` is its own. Raises Broken."""
    said = read_version(value)
    if not said or not isinstance(value, dict):
        raise make_broken(
            SYNTAX, (), "this is no OpenAPI document", "it begins with `openapi: 3.1.0` or `swagger: '2.0'`"
        )
    key = "openapi" if "openapi" in value else "swagger"
    version = "2.0" if key == "swagger" and said == "2.0" else _VERSIONS.get(said)
    is_newer = version is None and key == "openapi" and said.startswith("3.") and said[2:].isdecimal()
    if version is None and not is_newer:
        raise make_broken(SYNTAX, (key,), f"version {said} of OpenAPI cannot be read", "convert it to 3.1 first")
    document = OpenApi(value, version or "3.2", References(value, load, file_name))
    if is_newer:
        document.report(SYNTAX, (key,), f"version {said} is newer than this reader; it is read as 3.2")
    return document
