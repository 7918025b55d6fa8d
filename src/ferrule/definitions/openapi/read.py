"""A document of any version to operations. What is broken is told, and takes nothing else with it.

Nothing is read before somebody asks: a heading is cheap, an operation is read whole, a reference is followed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.definitions.openapi.pieces import read_answers, read_body, read_parameters
from ferrule.definitions.openapi.references import REFERENCE, Broken, Load, References, broken
from ferrule.definitions.openapi.shape import (
    SYNTAX,
    Answer,
    Heading,
    Operation,
    Parameter,
    Server,
    Version,
    mapping,
    text,
)
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue, Path, type_name

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_UNREAD: tuple[dict[str, Any], ...] = ({"": []},)
_MOST_FINDINGS = 5_000
_VERSIONS: dict[str, Version] = {"3.0": "3.0", "3.1": "3.1", "3.2": "3.2"}


class OpenApi:
    """A document."""

    def __init__(self, root: dict[str, Any], version: Version, references: References) -> None:
        self.root = root
        self.version = version
        self.references = references
        self.findings: list[Finding] = []
        self._told: set[tuple[str, Path, str]] = set()
        info = mapping(root, "info")
        self.title = " ".join(text(info, "title").split())
        self.api_version = text(info, "version")
        self.description = text(info, "description")
        self._own_servers: tuple[Server, ...] | None = None
        self._own_security: tuple[dict[str, Any], ...] | None = _UNREAD
        self.parameters: dict[int | str, Parameter] = {}
        """Those that were read, by where they are written: many operations share one."""
        self.placed: dict[int, tuple[dict[str, Any], dict[str, Any], Parameter]] = {}
        """What parameters became, by their ids: a schema, and what is said about their place."""
        self.answers: dict[tuple[str, int | str], Answer] = {}
        """The same for responses."""

    def tell(
        self, rule: str, path: Path, message: str, severity: Severity = Severity.WARNING, hint: str | None = None
    ) -> None:
        """Keep a finding, once."""
        self.keep(Finding(rule, path, message, severity, hint))

    def keep(self, finding: Finding) -> None:
        """Keep a finding, once. Past a number nobody would read, only one more is kept, which says so."""
        mark = (finding.rule, finding.path, finding.message)
        if mark in self._told or len(self._told) > _MOST_FINDINGS:
            return
        self._told.add(mark)
        if len(self._told) > _MOST_FINDINGS:
            finding = Finding(
                SYNTAX, (), f"more than {_MOST_FINDINGS:,} findings; the rest is not told", Severity.WARNING
            )
        self.findings.append(finding)

    def resolved(self, value: Any, path: Path, what: str) -> tuple[dict[str, Any], Path]:
        """An object of the document, references followed, and where it stands. Raises Broken."""
        if isinstance(value, dict) and "$ref" in value:
            target = self.references.follow(value["$ref"], path)
            if not isinstance(target.value, dict):
                raise broken(
                    REFERENCE, (*path, "$ref"), f"the reference leads to {type_name(target.value)}, not to {what}"
                )
            beside = {key: value[key] for key in ("summary", "description") if isinstance(value.get(key), str)}
            return ({**target.value, **beside} if beside else target.value), target.path or path
        if not isinstance(value, dict):
            raise broken(SYNTAX, path, f"{what} must be an object, not {type_name(value)}")
        return value, path

    def headings(self) -> Iterator[Heading]:
        """Every operation, in the order of the document."""
        paths = self.root.get("paths", {})
        if not isinstance(paths, dict):
            self.tell(SYNTAX, ("paths",), f"`paths` must be an object, not {type_name(paths)}", Severity.ERROR)
            return
        for template, written in paths.items():
            path: Path = ("paths", template)
            if not isinstance(template, str) or not template.startswith("/"):
                if not str(template).startswith("x-"):
                    self.tell(SYNTAX, path, f"the path {template!r} does not begin with a slash; it is passed over")
                continue
            try:
                item, item_path = self._item(written, path)
            except Broken as problem:
                self.keep(problem.finding)
                continue
            for method, value, place in self._methods(item, item_path):
                yield self._heading(method, template, value, item, place, item_path)

    def _item(self, written: Any, path: Path) -> tuple[dict[str, Any], Path]:
        if isinstance(written, dict) and "$ref" in written:
            item, at = self.resolved(written, path, "a path item")
            beside = {key: value for key, value in written.items() if key != "$ref"}
            return {**item, **beside}, at
        return self.resolved(written, path, "a path item")

    def _methods(self, item: dict[str, Any], path: Path) -> Iterator[tuple[str, dict[str, Any], Path]]:
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
                self.tell(
                    SYNTAX, place, f"an operation must be an object, not {type_name(value)}; it is passed over",
                    Severity.ERROR,
                )  # fmt: skip

    def _heading(
        self, method: str, template: str, value: dict[str, Any], item: dict[str, Any], path: Path, item_path: Path
    ) -> Heading:
        tags = value.get("tags")
        named = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
        return Heading(method, template, _operation_id(value), named, value, item, path, item_path)

    def operation(self, heading: Heading) -> Operation:
        """One operation, read. Raises Broken when no tool could be made of it."""
        value, path = heading.value, heading.path
        parameters = read_parameters(self, heading)
        return Operation(
            heading,
            text(value, "summary") or text(heading.item, "summary"),
            text(value, "description") or text(heading.item, "description"),
            value.get("deprecated") is True,
            parameters,
            read_body(self, heading),
            read_answers(self, heading),
            self._security(value, path),
            self._servers(heading),
            text(mapping(value, "externalDocs"), "url") if "externalDocs" in value else "",
        )

    def _security(self, value: dict[str, Any], path: Path) -> tuple[dict[str, Any], ...] | None:
        if value.get("security") is not None:
            return self._alternatives(value["security"], (*path, "security"))
        if self._own_security is _UNREAD:
            self._own_security = self._alternatives(self.root.get("security"), ("security",))
        return self._own_security

    def _alternatives(self, said: Any, path: Path) -> tuple[dict[str, Any], ...] | None:
        if said is None:
            return None
        if not isinstance(said, list):
            self.tell(SYNTAX, path, f"`security` must be a list, not {type_name(said)}; it is passed over")
            return None
        return tuple(each for each in said if isinstance(each, dict))

    @property
    def security_schemes(self) -> tuple[dict[str, Any], Path]:
        """What can be asked for, by name, and where it is defined."""
        if self.version == "2.0":
            return mapping(self.root, "securityDefinitions"), ("securityDefinitions",)
        return mapping(mapping(self.root, "components"), "securitySchemes"), ("components", "securitySchemes")

    def _servers(self, heading: Heading) -> tuple[Server, ...]:
        """The addresses of an operation: its own, those of its path, or those of the document."""
        if self.version == "2.0":
            if "schemes" in heading.value:
                return _hosts(self.root, heading.value.get("schemes"))
        else:
            for owner, path in ((heading.value, heading.path), (heading.item, heading.item_path)):
                found = self._server_list(owner, path)
                if found:
                    return found
        if self._own_servers is None:
            self._own_servers = (
                _hosts(self.root, self.root.get("schemes"))
                if self.version == "2.0"
                else self._server_list(self.root, ())
            )
        return self._own_servers

    def _server_list(self, owner: dict[str, Any], path: Path) -> tuple[Server, ...]:
        written = owner.get("servers")
        if written is None:
            return ()
        if not isinstance(written, list):
            self.tell(SYNTAX, (*path, "servers"), f"`servers` must be a list, not {type_name(written)}")
            return ()
        found = []
        for index, each in enumerate(written):
            if isinstance(each, dict) and isinstance(each.get("url"), str):
                found.append(
                    Server(
                        each["url"],
                        mapping(each, "variables"),
                        text(each, "description"),
                        text(each, "name"),
                        (*path, "servers", index),
                    )
                )
            else:
                self.tell(SYNTAX, (*path, "servers", index), "a server needs a `url`; it is passed over")
        return tuple(found)


def _operation_id(operation: dict[str, Any]) -> str:
    """The id as it is written, spaces at its ends included; nothing for one that is blank."""
    said = text(operation, "operationId")
    return said if said.strip() else ""


def _hosts(root: dict[str, Any], schemes: Any) -> tuple[Server, ...]:
    """The addresses of a Swagger document; secure ones first."""
    host, base = text(root, "host").strip("/"), text(root, "basePath")
    said = [scheme for scheme in schemes if isinstance(scheme, str)] if isinstance(schemes, list) else []
    said = [scheme for scheme in said if scheme in ("https", "http")] or (["https"] if host else [])
    said.sort(key=lambda scheme: scheme != "https")
    if not host:
        return (Server(base, {}, "", "", ("basePath",)),) if base else ()
    return tuple(Server(f"{scheme}://{host}{base}", {}, "", "", ("host",)) for scheme in said)


def version_of(value: JsonValue) -> str:
    """What a document says it is: `2.0`, `3.1`, …; empty for anything that is no OpenAPI document."""
    if not isinstance(value, dict):
        return ""
    said = value.get("openapi", value.get("swagger"))
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return ""
    return ".".join((str(said).strip() + ".0").split(".")[:2])


def read_document(value: JsonValue, load: Load | None = None, file_name: str = "") -> OpenApi:
    """A document, ready to be asked. `load` reads files beside it, `file_name` is its own. Raises Broken."""
    said = version_of(value)
    if not said or not isinstance(value, dict):
        raise broken(SYNTAX, (), "this is no OpenAPI document", "it begins with `openapi: 3.1.0` or `swagger: '2.0'`")
    key = "openapi" if "openapi" in value else "swagger"
    version = "2.0" if key == "swagger" and said == "2.0" else _VERSIONS.get(said)
    is_newer = version is None and key == "openapi" and said.startswith("3.") and said[2:].isdecimal()
    if version is None and not is_newer:
        raise broken(SYNTAX, (key,), f"version {said} of OpenAPI cannot be read", "convert it to 3.1 first")
    document = OpenApi(value, version or "3.2", References(value, load, file_name))
    if is_newer:
        document.tell(SYNTAX, (key,), f"version {said} is newer than what is known here; it is read as 3.2")
    return document
