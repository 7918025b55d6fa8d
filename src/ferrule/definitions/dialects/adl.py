"""ADL manifests (Agent Definition Language, v1): an agent with its tools, services and settings in one YAML document.

Every tool of a manifest becomes a canonical tool, and the whole manifest a record. Built-in tools come
from `model/builtin_tools.py`, and conversion from other dialects is `adl_emit.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ferrule.contracts.dialect import Definition
from ferrule.definitions.content.extension import apply_extension
from ferrule.model.builtin_tools import BUILTIN_TOOLS, BuiltinTool
from ferrule.model.credentials import is_literal_secret
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.loss import EXTENSION
from ferrule.model.outline import Outline, ToolOutline
from ferrule.model.tool import Compiled, Record, Tool, infer_facts, raw
from ferrule.model.value import JsonObject, JsonValue, Path, dig

FAMILY = "adl.inference-gateway.com"
_REQUIRED_BLOCKS = ("capabilities", "server", "language")
_WRITTEN = re.compile(
    rb"(?:^(?:- |\{)?\s?|\A\s*\{\s*)[\"']?apiVersion[\"']?[\s:]+[\"']?adl\.inference-gateway\.com", re.MULTILINE
)
IDENTIFIER = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}")
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


class AdlDialect:
    """Agent manifests of the ADL family."""

    name = "adl"

    def claims_name(self, source: Source) -> bool:
        """Returns True when a line of the raw text opens a manifest of the family; Markdown only talks about them."""
        if FAMILY.encode() not in source.data or source.name.lower().endswith((".md", ".markdown")):
            return False
        return _WRITTEN.search(source.data) is not None

    def detect(self, document: Document) -> bool:
        """Returns True for the family's `apiVersion`, or for an agent whose `spec` has the blocks only ADL has."""
        root = document.value
        if not isinstance(root, dict):
            return False
        version = root.get("apiVersion")
        if isinstance(version, str) and version.strip().lower().startswith(FAMILY):
            return True
        spec = root.get("spec")
        if not isinstance(spec, dict):
            return False
        alike = sum(block in spec for block in _REQUIRED_BLOCKS)
        return alike >= (2 if root.get("kind") == "Agent" else 3)

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """Returns the first document as the manifest; a further one is a finding."""
        if document.index > 0:
            if document.value is None:
                return [], []
            message = "a manifest is one YAML document; this is another one"
            return [], [
                Finding("ADL-1", (), message, hint="put it in a file of its own", line=document.first_line, column=1)
            ]
        if not isinstance(document.value, dict):
            return [], [Finding("ADL-1", (), "a manifest is a mapping with apiVersion, kind, metadata and spec")]
        if not self.detect(document):  # something else, in a file whose later document is a manifest
            return [], []
        return [Definition("adl.manifest", (), document.value)], []

    def issue_rule(self, issue: Issue) -> str:
        """Returns ADL-1: unreadable text is a malformed manifest."""
        return "ADL-1"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Outlines each tool with a valid id."""
        manifest = definition.value
        agent, version = _get_text(manifest, "metadata", "name"), _get_text(manifest, "metadata", "version")
        for path, item in _list_valid_tools(manifest):
            builtin = BUILTIN_TOOLS.get(item["id"])
            yield ToolOutline(
                document.source.file,
                self.name,
                agent or namespace,
                item["id"],
                f"{agent or namespace}.{item['id']}",
                path=path,
                document=document.index,
                version=version,
                status=_find_lifecycle(manifest, builtin),
                type=builtin.kind if builtin else "function",
                name_path=("id",),
            )

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """Compiles the tools, and the whole manifest as a record without credentials."""
        manifest = definition.value
        agent, version = (
            _get_text(manifest, "metadata", "name") or namespace,
            _get_text(manifest, "metadata", "version"),
        )
        tools = tuple(
            apply_extension(compile_item(manifest, item, agent, version), find_item_extension(manifest, item))
            for _, item in _list_valid_tools(manifest)
        )
        payload = raw(_mask_secrets(manifest))
        record = Record(kind="manifest", record_id=agent, dialect=self.name, version=version, payload=payload)
        return Compiled(tools, (record,))


def _get_text(manifest: JsonObject, *path: str) -> str | None:
    value = dig(manifest, path)
    return value if isinstance(value, str) else None


def _list_valid_tools(manifest: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """Yields the items of `spec.tools` with a well-formed id; of a repeated id only the first."""
    items = dig(manifest, ("spec", "tools"))
    seen: set[str] = set()
    for index, item in enumerate(items if isinstance(items, list) else ()):
        identity = item.get("id") if isinstance(item, dict) else None
        if isinstance(identity, str) and identity not in seen and IDENTIFIER.fullmatch(identity):
            seen.add(identity)
            yield ("spec", "tools", index), item


def _find_lifecycle(manifest: JsonObject, builtin: BuiltinTool | None) -> str:
    if builtin is None or dig(manifest, ("spec", "config", "tools", builtin.id, "enabled")) is True:
        return "available"
    return "disabled"


def find_item_extension(manifest: JsonObject, item: JsonObject) -> JsonObject | None:
    """Returns the object under our key for a tool. It stands at the root: other readers show a tool's schema to models."""
    found = dig(manifest, (EXTENSION, "tools", item["id"]))
    return found if isinstance(found, dict) else None


def compile_item(manifest: JsonObject, item: JsonObject, agent: str, version: str | None) -> Tool:
    """Compiles a tool of a manifest without errors; keeps the object under our key in the payload, unapplied."""
    builtin = BUILTIN_TOOLS.get(item["id"])
    payload: JsonObject = {"tool": item, **_collect_injected(manifest, item)}
    if (extension := find_item_extension(manifest, item)) is not None:
        payload[EXTENSION] = extension
    if builtin is None:
        facts, unstated = infer_facts({})
        title, description, schema = item.get("name"), item.get("description"), item.get("schema")
        tags = item.get("tags")
    else:
        facts, unstated = infer_facts(
            {"is_read_only": True} if builtin.is_read_only else {}, is_open_world=builtin.is_open_world
        )
        title, description, schema = builtin.name, builtin.description, builtin.schema
        tags = item.get("tags") or builtin.tags
        settings = dig(manifest, ("spec", "config", "tools", builtin.id))
        if isinstance(settings, dict):
            payload["config"] = settings
    return Tool(
        tool_id=f"{agent}.{item['id']}",
        namespace=agent,
        name=item["id"],
        title=title,
        description=description or "",
        lifecycle=_find_lifecycle(manifest, builtin),
        tool_kind=builtin.kind if builtin else "function",
        dialect="adl",
        version=version,
        tags=tuple(tags or ()),
        input_schema=raw(schema or {}),
        facts=facts,
        inferred_facts=unstated,
        credentials=_collect_credentials(manifest, item),
        payload=raw(payload),
    )


def _collect_injected(manifest: JsonObject, item: JsonObject) -> JsonObject:
    """Returns the services and groups of settings injected into a tool, secrets masked, so that it stands alone."""
    inject = item.get("inject")
    if not isinstance(inject, list) or item["id"] in BUILTIN_TOOLS:
        return {}
    names = [entry.split(".") for entry in inject if isinstance(entry, str)]
    groups = {name[1] for name in names if name[0] == "config" and len(name) > 1}
    found: JsonObject = {}
    for block, wanted in (("services", {name[0] for name in names}), ("config", groups)):
        written = dig(manifest, ("spec", block))
        if isinstance(written, dict):
            is_all = block == "config" and ["config"] in names
            # `config.tools` holds the settings of the built-in tools and is never injected (ADL-31).
            found[block] = {
                k: _mask_value(v, (k,)) for k, v in written.items() if k != "tools" and (k in wanted or is_all)
            }
    return {f"injected_{block}": members for block, members in found.items() if members}


def _collect_credentials(manifest: JsonObject, item: JsonObject) -> msgspec.Raw | None:
    """Returns the environment variables that the config groups injected into a tool refer to."""
    config = dig(manifest, ("spec", "config"))
    inject = item.get("inject")
    if not isinstance(config, dict) or not isinstance(inject, list) or item["id"] in BUILTIN_TOOLS:
        return None
    names: set[str] = set()
    for entry in inject:
        first, _, rest = str(entry).partition(".")
        if first == "config":
            group = rest.partition(".")[0]
            wanted = [config.get(group)] if group else [value for name, value in config.items() if name != "tools"]
            names.update(name for value in wanted for name in _PLACEHOLDER.findall(_encode_text(value)))
    return raw({"environment": sorted(names)}) if names else None


def _encode_text(value: JsonValue) -> str:
    return bytes(raw(value)).decode()


def _mask_secrets(manifest: JsonObject) -> JsonObject:
    """Replaces literal credentials (ADL-37) by placeholders: a compiled catalog holds no secret."""
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return manifest
    spec = dict(spec)
    if isinstance(spec.get("config"), dict):
        spec["config"] = {k: v if k == "tools" else _mask_value(v, (k,)) for k, v in spec["config"].items()}
    for block in ("agent", "deployment"):
        if isinstance(spec.get(block), dict):
            spec[block] = _mask_environments(spec[block], (block,))
    return {**manifest, "spec": spec}


def _mask_environments(value: object, path: Path) -> Any:
    """Masks `env`, `headers` and `environment` blocks and leaves everything else."""
    if isinstance(value, dict):
        return {
            key: _mask_value(member, (*path[1:], key))
            if key in ("env", "headers", "environment")
            else _mask_environments(member, (*path, key))
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_mask_environments(item, (*path, index)) for index, item in enumerate(value)]
    return value


def _mask_value(value: object, path: Path) -> Any:
    if isinstance(value, dict):
        return {key: _mask_value(member, (*path, key)) for key, member in value.items()}
    if isinstance(value, list):
        return [_mask_value(item, (*path, index)) for index, item in enumerate(value)]
    name = path[-1] if isinstance(path[-1], str) else ""
    return f"${{{_name_variable(path)}}}" if is_literal_secret(name, value) else value


def _name_variable(path: Path) -> str:
    """Returns an environment variable for a setting: `database.connectionString` -> DATABASE_CONNECTION_STRING."""
    return "_".join(filter(None, _BOUNDARY.split(".".join(map(str, path))))).upper()


DIALECT = AdlDialect()
