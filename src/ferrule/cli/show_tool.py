"""`ferrule show TOOL`: one tool in full, with what was inferred marked as such.

A JSON Schema is shown as a person reads it: one line per property with its type, limits and description.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import click
import msgspec

from ferrule.cli.options import tools_here
from ferrule.cli.show.output import has_colour
from ferrule.cli.workspace_tools import ListedTool, ToolReference, WorkspaceTools, collect_tools, find_line
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.model.hints import nearest
from ferrule.model.outline import ToolOutline
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.schema.tree import SchemaField, schema_tree
from ferrule.workspace.workspace import Workspace


def schema_lines(schema: object) -> Iterator[str]:
    """Yields the fields of a schema, nested ones indented, required ones with an asterisk."""
    fields = schema_tree(schema)
    yield from _field_lines(fields, 1)
    if fields and isinstance(schema, dict) and schema.get("additionalProperties") is False:
        yield "  (nothing else)"


def _field_lines(fields: Iterable[SchemaField], depth: int) -> Iterator[str]:
    for field in fields:
        words = field.type
        if field.values and "|" not in words:
            words += f": {', '.join(field.values)}"
        text = f"{'  ' * depth}{field.name or 'the value'}{'*' if field.is_required and field.name else ''}"
        text += f": {words}" if words else ""
        yield f"{text}. {field.description}" if field.description else text
        yield from _field_lines(field.children, depth + 1)


_GUIDANCE = {"use_when": "use when", "avoid_when": "avoid when", "side_effects": "side effects"}


@click.command()
@click.argument("tool", shell_complete=tools_here)
@click.option("--workspace", "path", default=".", type=click.Path(), help="Look in the workspace around this path.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(tool: str, path: str, as_json: bool) -> int:
    """Show one tool in full. TOOL is its id or name; add @VERSION where there are several versions."""
    workspace = Workspace.open(path)
    shelf = collect_tools(workspace, lambda outline: _is_meant(outline, tool))
    entries = _find_tools(shelf, tool)
    place = f"{entries[0].file}:{find_line(workspace, entries[0])}"
    if as_json:
        click.echo(json.dumps(_as_dict(entries[0], shelf, place), indent=2, ensure_ascii=False))
    else:
        for line in _page(entries[0], shelf, place):
            sys.stdout.write(line + "\n")
        for other in entries[1:]:
            sys.stdout.write(f"\nalso: {_full_name(other)} in {sanitize(other.file)}\n")
    return 0 if entries[0].tool is not None else 1


def _find_tools(shelf: WorkspaceTools, word: str) -> list[ListedTool]:
    """Finds the tools of a name, newest version first."""
    found = [entry for entry in shelf.entries if _is_meant(entry.outline, word)]
    if found:
        return found[::-1]
    known = {known for entry in shelf.entries for known in (entry.outline.tool_id, entry.outline.name)}
    hint = nearest(word.partition("@")[0], known) or "`ferrule list` shows them all"
    raise WorkspaceError(f"there is no tool {word!r} here; {hint}")


def _is_meant(outline: ToolOutline, word: str) -> bool:
    name, _, version = word.partition("@")
    names = (outline.tool_id, outline.name, f"{outline.namespace}.{outline.name}")
    return name in names and version in ("", outline.version)


def _full_name(entry: ListedTool) -> str:
    version = f"@{entry.outline.version}" if entry.outline.version else ""
    return sanitize(f"{entry.outline.tool_id}{version}")


def _page(entry: ListedTool, shelf: WorkspaceTools, place: str) -> Iterator[str]:
    bold = ("\x1b[1m{}\x1b[0m" if has_colour(sys.stdout) else "{}").format
    yield bold(_full_name(entry))
    tool = entry.tool
    if tool is None:
        yield f"  defined in  {sanitize(place)}"
        count = "an error" if entry.errors == 1 else f"{entry.errors} errors"
        yield f"Its file has {count}, so there is no more to show: ferrule check {sanitize(entry.file)}"
        return
    if tool.title:
        yield sanitize(tool.title)
    yield ""
    yield from _wrap(tool.description)
    yield ""
    yield from _identity(tool, place)
    users = shelf.list_references(entry)
    yield _row("agents", ", ".join(map(_use, users.agents)) or "none")
    yield _row("roles", ", ".join(map(_use, users.roles)) or "none")
    yield from ("", bold("safety"))
    for name in FACT_NAMES:
        mark = "  (inferred)" if name in tool.inferred_facts else ""
        yield _row(name, _word(getattr(tool.facts, name)) + mark, 26)
    yield _row("approval_required", _word(tool.approval_required), 26)
    yield _row("max_calls_per_run", _word(tool.max_calls_per_run), 26)
    if tool.credentials is not None:
        yield _row("credentials", json.dumps(json.loads(bytes(tool.credentials)), ensure_ascii=False), 26)
    yield from _guidance(tool, bold)
    yield from _schema(bold("input"), tool.input_schema)
    yield from _schema(bold("output"), tool.output_schema)
    for heading, text in entry.documentation.items():
        yield from ("", bold(sanitize(heading.replace("_", " "))))
        yield from _wrap(text)


def _identity(tool: Tool, place: str) -> Iterator[str]:
    yield _row("defined in", place)
    yield _row("written in", tool.dialect)
    yield _row("namespace", tool.namespace)
    yield _row("kind", tool.tool_kind)
    if where := _transport(tool):
        yield _row("behind it", where)
    yield _row("lifecycle", tool.lifecycle)
    yield _row("owner", tool.owner or "nobody named")
    if tool.aliases:
        yield _row("aliases", ", ".join(tool.aliases))
    if tool.tags:
        yield _row("tags", ", ".join(tool.tags))


def _transport(tool: Tool) -> str:
    """Describes the transport of an AML tool in one line. It never holds secrets."""
    payload = json.loads(bytes(tool.payload))
    said = payload.get("transport") if isinstance(payload, dict) else None
    if not isinstance(said, dict):
        return ""
    names = (
        "provider",
        "engine",
        "query_method",
        "base_url",
        "endpoint",
        "url",
        "tool_name",
        "function_id",
        "queue_url",
    )
    return " ".join(str(said[name]) for name in ("type", *names) if isinstance(said.get(name), str))


def _use(use: ToolReference) -> str:
    added = ["approval required"] if use.approval_required else []
    if use.max_calls_per_run is not None:
        added.append(f"at most {use.max_calls_per_run} a run")
    return f"{use.name} ({', '.join(added)})" if added else use.name


def _guidance(tool: Tool, bold: Any) -> Iterator[str]:
    payload = json.loads(bytes(tool.payload))
    guidance = payload.get("use_guidance") if isinstance(payload, dict) else None
    for key, heading in _GUIDANCE.items():
        said = guidance.get(key) if isinstance(guidance, dict) else None
        if said:
            yield from ("", bold(heading))
            for item in said if isinstance(said, list) else [said]:
                yield f"  - {sanitize(str(item))}"


def _schema(heading: str, schema: msgspec.Raw | None) -> Iterator[str]:
    yield from ("", heading)
    lines = list(schema_lines(json.loads(bytes(schema)))) if schema is not None else []
    yield from map(sanitize, lines or ["  anything" if schema is not None else "  not stated"])


def _row(label: str, value: str, width: int = 12) -> str:
    return f"  {label:<{width}}{sanitize(value)}".rstrip()


def _word(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "no limit"
        case "":
            return "empty"
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)


def _wrap(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield from map(sanitize, textwrap.wrap(" ".join(paragraph.split()), 100) or [""])


def _as_dict(entry: ListedTool, shelf: WorkspaceTools, place: str) -> dict[str, object]:
    users = shelf.list_references(entry)
    tool = json.loads(msgspec.json.encode(entry.tool)) if entry.tool is not None else None
    return {
        "tool": tool,
        "outline": msgspec.structs.asdict(entry.outline) if tool is None else None,
        "documentation": entry.documentation,
        "defined_in": place,
        "agents": [use._asdict() for use in users.agents],
        "roles": [use._asdict() for use in users.roles],
        "errors": entry.errors,
    }
