"""Tools of imported OXP servers in the canonical model, from the lock alone, without a connection.

OXP says nothing about the safety of a tool, so every fact about an imported one is inferred, fail-closed.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import LOCK_FILE, Native, is_usable_name, read_lock
from ferrule.model.tool import Tool, infer_facts, raw
from ferrule.model.upstreams import OxpServer, OxpUpstreams
from ferrule.schema.validation.validators import explain_refusal

SERVER_DIALECT = "oxp_server"
"""The dialect of tools that live on an OXP server; that of definition files is `oxp`."""
_ID = re.compile(r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)@([0-9]+\.[0-9]+\.[0-9]+)", re.ASCII)
_LONGEST_ID = 256
_log = logging.getLogger("ferrule.oxp")


class ImportedOxp(msgspec.Struct, frozen=True):
    """The payload of an imported tool."""

    server_id: str
    definition: Native
    """As the server gave it when it was accepted."""


def make_lock_key(server_id: str) -> str:
    """Returns a server's key in the lock, where the bare ids are those of MCP servers."""
    return f"oxp:{server_id}"


def list_imported_oxp_tools(root: Path, settings: OxpUpstreams) -> tuple[Tool, ...]:
    """Returns the accepted tools of every server in `[oxp.servers]`. Raises SettingsError for a lock that cannot be
    trusted."""
    if not settings.servers:
        return ()
    lock = read_lock(root)
    tools: list[Tool] = []
    for server_id, server in settings.servers.items():
        check_oxp_server(server_id, server)
        pinned = lock.servers.get(make_lock_key(server_id))
        if pinned is None:
            _log.warning(
                "the tools of the OXP server %r are not there: nothing of it is in %s; run 'ferrule lock'",
                server_id,
                LOCK_FILE,
            )
            continue
        wanted = [
            tool.definition
            for tool_id, tool in pinned.tools.items()
            if is_wanted_oxp(server, tool_id) and why_unusable_oxp(tool.definition, is_compat=server.compat) is None
        ]
        called = Counter("_".join(parts) for parts in {_parts(definition)[:2] for definition in wanted})
        tools += [
            make_oxp_tool(server_id, definition, is_ambiguous=_is_shared(definition, called)) for definition in wanted
        ]
    return tuple(tools)


def check_oxp_server(server_id: str, server: OxpServer) -> None:
    """Raises SettingsError for a server that cannot be reached as written."""
    where = f"[oxp.servers.{server_id}]"
    if not is_usable_name(server_id) or "/" in server_id:
        raise SettingsError(f"{where}: write the server's id with letters, digits, '_', '-' and '.'")
    ways = [bool(way) for way in (server.api_key, server.jwt_secret, server.credentials)]
    if sum(ways) > 1:
        raise SettingsError(f"{where} needs one of api_key, jwt_secret and credentials, not several")


def is_wanted_oxp(server: OxpServer, tool_id: str) -> bool:
    """True for a tool that `tools` in the server's settings names, with or without its version."""
    plain = tool_id.partition("@")[0]
    return any(fnmatchcase(tool_id, pattern) or fnmatchcase(plain, pattern) for pattern in server.tools)


def why_unusable_oxp(definition: Native, *, is_compat: bool) -> str | None:
    """Returns why a definition cannot become a tool; None when it can."""
    written = definition.get("id")
    found = _ID.fullmatch(written) if isinstance(written, str) and len(written) <= _LONGEST_ID else None
    if found is None:
        return "its id is no Toolkit.Tool@x.y.z"
    if definition.get("version") != found[3]:
        return "its version is another than the one in its id"
    parameters, output = _schemas(definition, is_compat=is_compat)
    if not isinstance(parameters, dict):
        return "its input_schema has no object `parameters`" + (
            "" if is_compat else " (compat = true takes other shapes)"
        )
    if output is not None and not isinstance(output, dict):
        return "its output_schema is neither an object nor null" + (
            " (compat = true takes definitions without one)" if "output_schema" not in definition else ""
        )
    for member, schema in (("input_schema", parameters), ("output_schema", output)):
        refusal = explain_refusal({} if schema is None else schema)
        if refusal is not None:
            return f"its {member} is no JSON Schema ({refusal})"
    requirements = definition.get("requirements")
    return None if requirements is None or isinstance(requirements, dict) else "its requirements are no object"


def make_oxp_tool(server_id: str, definition: Native, *, is_ambiguous: bool = False) -> Tool:
    """Returns a definition as a tool of the workspace. `is_ambiguous`: another toolkit's tool would have the same name."""
    toolkit, short, version = _parts(definition)
    parameters, output = _schemas(definition, is_compat=True)
    # OXP has no safety facts, so all are inferred at their safest.
    facts, unstated = infer_facts({}, is_open_world=True)
    requirements = definition.get("requirements")
    mapping = {"source": "oxp", "server_id": server_id, "tool_id": definition["id"]}
    return Tool(
        tool_id=f"{server_id}.{toolkit}.{short}",
        namespace=server_id,
        name=f"{toolkit}.{short}" if is_ambiguous else f"{toolkit}_{short}",
        description=definition["description"] if isinstance(definition.get("description"), str) else "",
        lifecycle="available",
        tool_kind="function",
        dialect=SERVER_DIALECT,
        version=version,
        input_schema=raw(parameters),
        output_schema=raw(output) if isinstance(output, dict) else None,
        facts=facts,
        inferred_facts=unstated,
        credentials=raw(requirements) if requirements else None,
        payload=raw({"server_id": server_id, "definition": definition, "external_mappings": [mapping]}),
    )


def read_imported_oxp(tool: Tool) -> ImportedOxp:
    """Returns the payload of an imported tool."""
    return msgspec.json.decode(tool.payload, type=ImportedOxp)


def _schemas(definition: Native, *, is_compat: bool) -> tuple[Any, Any]:
    """Returns the schemas of input and output. Later drafts write the first without `parameters`, and may omit both
    (OXP-49)."""
    written = definition.get("input_schema", {} if is_compat else None)
    output = definition.get("output_schema", {} if is_compat else "absent")
    if not isinstance(written, dict):
        return None, output
    if is_compat and "parameters" not in written:
        return written, output
    return written.get("parameters"), output


def _parts(definition: Native) -> tuple[str, str, str]:
    found = _ID.fullmatch(str(definition.get("id")))
    assert found is not None  # what is unusable is not made into a tool
    return found[1], found[2], found[3]


def _is_shared(definition: Native, called: Counter[str]) -> bool:
    toolkit, short, _ = _parts(definition)
    return called[f"{toolkit}_{short}"] > 1
