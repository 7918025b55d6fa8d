"""Ids for tools in a document that takes only some characters: no two alike, and the tool whose own id it is keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ferrule.model.tool import Tool


def distinct(
    tools: Sequence[Tool],
    wanted: Callable[[Tool], str],
    version: Callable[[Tool], str],
    marked: Callable[[str, str], Iterator[str]],
) -> dict[int, str]:
    """An id for each tool, by the tool object; versions of one tool share it. `marked`: an id with something that tells it
    apart, made from what the tool is really called."""
    given: dict[int, str] = {}
    owners: dict[str, tuple[str, str]] = {}
    used: set[tuple[str, str]] = set()
    fitting = {id(tool): wanted(tool) for tool in tools}

    def is_free(name: str, tool: Tool) -> bool:
        owner = (tool.namespace, tool.tool_id)
        return owners.get(name, owner) == owner and (name, version(tool)) not in used

    def rank(tool: Tool) -> tuple[bool, str, str, str]:
        is_own = fitting[id(tool)] in (tool.tool_id, tool.name)
        return (not is_own, tool.namespace, tool.tool_id, tool.version or "")

    for tool in sorted(tools, key=rank):
        name = fitting[id(tool)]
        if not is_free(name, tool):
            seed = f"{tool.namespace}\0{tool.tool_id}"
            seeds = (seed, f"{seed}\0{tool.version}")
            name = next(one for seed in seeds for one in marked(name, seed) if is_free(one, tool))
        given[id(tool)] = name
        owners[name] = (tool.namespace, tool.tool_id)
        used.add((name, version(tool)))
    return given
