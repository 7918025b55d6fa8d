"""User-defined tools that leave out, or leave empty, what only their author can say."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.tool_items import list_tools, list_user_tools
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest

FIELDS = ("name", "description", "tags", "schema")
_ABSENT = object()
_USER_DEFINED = f"only the built-in tools {', '.join(BUILTIN_TOOLS)} may leave it out"
_FILLED = {
    "name": "repeat the id",
    "description": "say what the tool does and when to use it",
    "tags": "name at least one tag",
    "schema": "a tool without arguments has `{type: object, properties: {}}`",
}


class AbsentToolField(Rule):
    """A user-defined tool has a `name`, a `description`, `tags` and a `schema`; only a built-in may leave them out.

    Why: without them nothing can be offered to a model.
    Bad:  {id: search}
    Good: {id: search, name: search, description: Search orders, tags: [orders], schema: {type: object, …}}
    """

    code = "ADL-10"
    name = "absent-tool-field"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per absent field, at the tool."""
        for tool in list_user_tools(subject):
            if tool.id is None:
                continue
            for field in FIELDS:
                if field not in tool.value:
                    near = nearest(tool.id, BUILTIN_TOOLS) if len(tool.value) == 1 else None
                    message = f"tool {tool.id!r} has no `{field}`"
                    yield Finding(self.code, (*tool.path, field), message, hint=near or _USER_DEFINED)


class EmptyToolField(Rule):
    """The `name`, `description`, `tags` and `schema` of a user-defined tool say something.

    Why: an empty field passes for a filled one until a model has to choose between tools.
    Bad:  tags: []
    Good: tags: [orders]
    """

    code = "ADL-11"
    name = "empty-tool-field"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each field that is written but null or empty, at its key."""
        for tool in list_tools(subject):
            if tool.id is None:
                continue
            for field in FIELDS:
                value = tool.value.get(field, _ABSENT)
                if value or value is _ABSENT or subject.is_reported((*tool.path, field)):
                    continue
                if not tool.is_builtin:
                    message = f"`{field}` of tool {tool.id!r} is empty"
                    yield Finding(self.code, (*tool.path, field), message, hint=_FILLED[field])
                elif value is None:  # a built-in may leave it out or empty, but null is no text
                    message = f"`{field}` of tool {tool.id!r} is null"
                    yield Finding("ADL-12", (*tool.path, field), message, hint="remove the key")
