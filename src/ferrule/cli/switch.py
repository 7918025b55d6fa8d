"""Turning tools off and on again: what `ferrule disable` and `ferrule enable` share."""

from __future__ import annotations

from ferrule.app.app import App
from ferrule.errors import WorkspaceError
from ferrule.model.hints import nearest


async def tool_named(app: App, name: str) -> tuple[str, str]:
    """The id of a tool, and a note about it. A tool that is gone from the catalog can be switched by its id."""
    ids = list(dict.fromkeys(app.catalog.named(name)))
    off = {switch.tool_id for switch in await app.store.switched_off()}
    if name in ids or name in off:
        return name, ""
    if len(ids) == 1:
        return ids[0], ""
    if ids:
        raise WorkspaceError(f"{name!r} means several tools: {', '.join(ids)}; name one of them")
    hint = nearest(name, [listed.tool.tool_id for listed in app.catalog.preferred()])
    note = f"there is no tool {name!r} in the catalog" + (f" ({hint})" if hint else "")
    return name, f"{note}; should it come, this holds for it"
