"""`ferrule lock`: pins what other servers say about their tools, and shows what is not as it was accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.app.lock.pinning import accept_servers, review_servers
from ferrule.app.lock.reviews import LockReview, ServerReview
from ferrule.cli.inbox import require_admin
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, workspace_option
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.infra.lockfile.compare import ToolDifference
from ferrule.infra.lockfile.file import LOCK_FILE, Lock, encode_visible, has_unseen, write_lock
from ferrule.model.value import JsonObject
from ferrule.workspace.workspace import Workspace

_SIGNS = {"changed": "~", "renamed": ">", "vanished": "-", "new": "+"}
_LONGEST = 2_000


@click.command(
    epilog="Exit code: 0 when nothing differs (or all of it was accepted), 1 when something differs and was not accepted, "
    "2 when a server could not be looked at, or nothing could."
)
@click.argument("names", nargs=-1)
@click.option("--accept", "accepts", is_flag=True, help="Accept the differences: all, or those of NAMES.")
@click.option("--show", "shows", is_flag=True, help="Write nothing, not even for a server that is new.")
@click.option("--check", "checks", is_flag=True, help="For CI: write nothing, and fail on servers that are not pinned.")
@json_option
@workspace_option
def command(names: tuple[str, ...], path: str, accepts: bool, shows: bool, checks: bool, as_json: bool) -> int:
    """Compare what other servers say about their tools with what was accepted, in ferrule.lock.

    Every server of [mcp.servers] and [oxp.servers] is looked at, and every one that a definition names. A server of which nothing
    is pinned yet is pinned as it is; after that, tools that changed, were renamed or are new stay blocked until they are
    accepted. NAMES are servers, tools (SERVER.TOOL) or definitions.
    """
    if accepts and (shows or checks):
        raise click.UsageError("--accept writes, and --show and --check write nothing; choose one")
    workspace = Workspace.open(path)
    writes = not (shows or checks)
    by = _owner(workspace) if accepts else ""
    found = run_command(review_servers(workspace))
    _check_names(found, names)
    written = found.lock
    if writes and (accepts or any(one.is_first for one in found.servers)):
        by = by or _owner(workspace)
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        written = accept_servers(found, by, at, names if accepts else None, firsts=not accepts or not names)
        if written != found.lock:
            write_lock(workspace.root, written)
    left = _list_unsettled(found, written)
    if as_json:
        click.echo(json.dumps(_as_dict(found, written, left, by), indent=2, ensure_ascii=True))
    else:
        for line in _print_review(found, written, left, by):
            click.echo(line)
    if any(one.problem for one in found.servers):
        return 2
    return int(bool(left))


def _owner(workspace: Workspace) -> str:
    identity = Access(workspace.root).local_owner()
    require_admin(identity)
    return identity.principal


def _check_names(found: LockReview, names: tuple[str, ...]) -> None:
    known = set(found.unused)
    for one in found.servers:
        known.add(one.key)
        offered = {*one.offered, *(name for each in one.differences for name in (each.tool, each.now))}
        known |= {f"{one.key}.{name}" for name in offered}
        known |= {tool_id for ids in one.served.tools.values() for tool_id in ids}
    for name in names:
        if name not in known:
            raise WorkspaceError(f"there is no server, tool or definition {name!r} to lock; 'ferrule lock' lists them")


def _list_unsettled(found: LockReview, written: Lock) -> dict[str, list[ToolDifference]]:
    """Returns the remaining differences, by server."""
    left: dict[str, list[ToolDifference]] = {}
    for one in found.servers:
        now = written.servers.get(one.key)
        pinned = {name: tool.definition for name, tool in now.tools.items()} if now is not None else {}
        still = [each for each in one.differences if not _is_settled(each, pinned, one)]
        if still:
            left[one.key] = still
    return left


def _is_settled(difference: ToolDifference, pinned: JsonObject, one: ServerReview) -> bool:
    if difference.kind in ("vanished", "renamed") and difference.tool in one.served.tools:
        return False  # a definition names what the server does not have: it has to be mended
    if difference.kind == "vanished":
        return difference.tool not in pinned
    name = difference.now if difference.kind == "renamed" else difference.tool
    return pinned.get(name) == one.offered.get(name) and (name == difference.tool or difference.tool not in pinned)


def _print_review(found: LockReview, written: Lock, left: dict[str, list[ToolDifference]], by: str) -> Iterator[str]:
    if not found.servers:
        yield "there is nothing to lock: no [mcp.servers] or [oxp.servers] in ferrule.toml, no definition with an mcp transport"
    for one in found.servers:
        yield from map(sanitize, _about(one, written, left.get(one.key, []), by))
    for key in found.unused:
        if key in written.servers:
            yield f"{sanitize(key)}: in {LOCK_FILE}, and nothing names it any more; --accept takes it out"
    if left:
        yield f"calls of these tools are refused until they are accepted: ferrule lock --accept [{'|'.join(left)}]"


def _tools(one: ServerReview) -> str:
    return "1 tool" if len(one.offered) == 1 else f"{len(one.offered)} tools"


def _about(one: ServerReview, written: Lock, left: list[ToolDifference], by: str) -> Iterator[str]:
    if one.problem:
        yield f"{one.key}: could not be looked at: {one.problem}"
        return
    was_written = written.servers.get(one.key) != one.pinned
    if one.is_first and was_written:
        yield f"{one.key}: pinned for the first time by {by}: {_tools(one)} ({', '.join(one.offered)})"
    elif not one.differences:
        yield f"{one.key}: {_tools(one)}, as accepted"
    else:
        count = len(one.differences)
        yield f"{one.key}: {count} difference{'s' if count != 1 else ''}" + ("" if left else f", accepted by {by}")
    for difference in one.differences:
        if not (one.is_first and was_written):
            yield from _difference(one, difference, difference in left)
    for name, definition in one.offered.items():
        if has_unseen(definition) and (one.is_first or any(name in (each.tool, each.now) for each in one.differences)):
            yield f"  ! {name}: its texts have characters that cannot be seen; here they are: {_cut(encode_visible(definition))}"
    for name, why in one.unfit.items():
        yield f"  ! {encode_visible(name)} cannot become a tool: {why}"
    for note in one.notes:
        yield f"  note: {_cut(note)}"


def difference_lines(one: ServerReview) -> Iterator[str]:
    """Yields the differences of a reviewed server, for people."""
    if not one.differences:
        yield f"{one.key}: {_tools(one)}, as accepted"
    for difference in one.differences:
        yield from _difference(one, difference, is_left=True)


def _difference(one: ServerReview, difference: ToolDifference, is_left: bool) -> Iterator[str]:
    state = "" if is_left else " (accepted)"
    yield f"  {_SIGNS[difference.kind]} {difference.tool}: {difference.text}{state}"
    for change in difference.changes:
        yield f"      {change.path}"
        if change.before is not None:
            yield f"        - {_cut(change.before)}"
        if change.after is not None:
            yield f"        + {_cut(change.after)}"
    if difference.kind == "new" and difference.tool in one.offered:
        yield from (
            f"      {name}: {_cut(encode_visible(value))}"
            for name, value in one.offered[difference.tool].items()
            if name != "name"
        )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _as_dict(found: LockReview, written: Lock, left: dict[str, list[ToolDifference]], by: str) -> JsonObject:
    return {
        "lock": LOCK_FILE,
        "written": written != found.lock,
        "accepted_by": by or None,
        "servers": [
            {
                "id": one.key,
                "source": one.served.upstream.source,
                "status": _status(one, written, left),
                "problem": one.problem or None,
                "tools": sorted(one.offered),
                "differences": [
                    {**msgspec.to_builtins(each), "accepted": each not in left.get(one.key, ()), "text": each.text}
                    for each in one.differences
                ],
                "unfit": one.unfit,
                "notes": list(one.notes),
            }
            for one in found.servers
        ],
        "unused": [key for key in found.unused if key in written.servers],
    }


def _status(one: ServerReview, written: Lock, left: dict[str, list[ToolDifference]]) -> str:
    if one.problem:
        return "unreachable"
    if one.key in left:
        return "differs"
    return "as_accepted" if written.servers.get(one.key) == one.pinned else "accepted"
