"""The project that all stubs of a run share: its agent file, or the workspace where there is none (ADL `spec`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ferrule.contracts.language import Project, Section, Service, StubKind
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.errors import WorkspaceError
from ferrule.model.tool import Record, Tool
from ferrule.model.value import JsonObject, dig

_MODULES = {"go": "module", "typescript": "packageName", "rust": "packageName"}
"""What the agent file calls the module or the package of a language."""
_VERSIONS = {"go": "version", "typescript": "nodeVersion", "rust": "version"}
"""What it calls the version of a language."""
_MODULE = re.compile(r"[A-Za-z0-9@_][A-Za-z0-9@._~/+-]*")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NO_VERSION = "0.1.0"


def make_project(
    tools: Sequence[Tool], manifests: Iterable[Record], *, name: str, language: str, kind: StubKind
) -> Project:
    """Returns the project of some tools. `name`: of the workspace, for tools of no agent file or of several. Raises
    WorkspaceError when two agent files mean different things by one name."""
    wanted = {tool.namespace for tool in tools if tool.dialect == "adl"}
    found = {each.record_id: _decode_manifest(each) for each in manifests if each.record_id in wanted}
    acronyms = ACRONYMS.union(*(_read_acronyms(manifest) for manifest in found.values()))
    if len(found) != 1:
        shared = Project(name=name, version=_NO_VERSION, acronyms=acronyms)
        return shared if kind == "client" else _add_parts(shared, found)
    agent, manifest = next(iter(found.items()))
    is_alone = all(tool.namespace == agent for tool in tools)
    project = Project(
        name=agent if is_alone else name,
        version=_read_text(manifest, "metadata", "version") or _NO_VERSION,
        description=_read_text(manifest, "metadata", "description"),
        module=_read_module(manifest, language),
        language_version=_read_text(manifest, "spec", "language", language, _VERSIONS.get(language, "version")),
        acronyms=acronyms,
    )
    return _add_parts(project, found)


def _decode_manifest(record: Record) -> JsonObject:
    manifest = msgspec.json.decode(record.payload)
    return manifest if isinstance(manifest, dict) else {}


def _read_module(manifest: JsonObject, language: str) -> str:
    """Returns the name for the Go module or the package; one that could be anything else than a name does not count."""
    written = _read_text(manifest, "spec", "language", language, _MODULES[language]) if language in _MODULES else ""
    return written if _MODULE.fullmatch(written) else ""


def _read_acronyms(manifest: JsonObject) -> set[str]:
    listed = dig(manifest, ("spec", "acronyms"))
    texts = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return {each.lower() for each in texts if _WORD.fullmatch(each)}


def _add_parts(project: Project, manifests: Mapping[str, JsonObject]) -> Project:
    services: dict[str, Service] = {}
    sections: dict[str, Section] = {}
    for agent, manifest in manifests.items():
        for service in _read_services(manifest):
            _require_equal(agent, services.setdefault(service.name, service), service)
        for section in _read_sections(manifest):
            _require_equal(agent, sections.setdefault(section.name, section), section)
    return msgspec.structs.replace(project, services=tuple(services.values()), sections=tuple(sections.values()))


def _require_equal(agent: str, known: Service | Section, other: Service | Section) -> None:
    if known != other:
        what = "service" if isinstance(other, Service) else "group of settings"
        raise WorkspaceError(
            f"the {what} {other.name!r} of agent {agent!r} is another than that of the same name of another agent;"
            " generate for one at a time, with --agent"
        )


def _read_services(manifest: JsonObject) -> list[Service]:
    written = dig(manifest, ("spec", "services"))
    return [
        Service(
            name=name,
            interface=_read_text(service, "interface"),
            factory=_read_text(service, "factory"),
            description=_read_text(service, "description"),
            type=_read_text(service, "type") or "service",
        )
        for name, service in (written.items() if isinstance(written, dict) else ())
        if isinstance(service, dict)
    ]


def _read_sections(manifest: JsonObject) -> list[Section]:
    """Returns the groups of settings; those of the built-in tools are theirs alone (ADL-31)."""
    written = dig(manifest, ("spec", "config"))
    return [
        Section(name=name, settings=group)
        for name, group in (written.items() if isinstance(written, dict) else ())
        if name != "tools" and isinstance(group, dict)
    ]


def _read_text(value: JsonObject, *path: str) -> str:
    found = dig(value, path)
    return found if isinstance(found, str) else ""
