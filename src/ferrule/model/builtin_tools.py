"""The five tools the ADL generator brings along: their names, schemas and settings. Facts only; nothing runs here."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ferrule.model.tool import ToolKind
from ferrule.model.value import JsonObject

ConfigType = Literal["boolean", "integer", "string", "strings"]


class BuiltinTool(NamedTuple):
    """One reserved tool in its canonical form, which overrides whatever a manifest writes beside its id."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    kind: ToolKind
    is_read_only: bool
    is_open_world: bool
    schema: dict[str, Any]
    """JSON Schema of its arguments; shared, so never changed."""
    config: dict[str, ConfigType]
    """Members `spec.config.tools.<id>` may have."""


def _arguments(required: tuple[str, ...], **properties: dict[str, Any]) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_FILE = {"type": "string", "description": "Path of the file."}

_TABLE = (
    BuiltinTool(
        id="read",
        name="Read",
        description="Return the text of a file, whole or a slice of lines. Also loads the playbooks of skills.",
        tags=("filesystem", "read"),
        kind="file_operation",
        is_read_only=True,
        is_open_world=False,
        schema=_arguments(
            ("file_path",),
            file_path=_FILE,
            offset={"type": "integer", "minimum": 1, "description": "First line to return, counted from 1."},
            limit={"type": "integer", "minimum": 1, "description": "How many lines to return at most."},
        ),
        config={"enabled": "boolean", "max_lines": "integer", "allowed_roots": "strings"},
    ),
    BuiltinTool(
        id="bash",
        name="Bash",
        description="Run a shell command within the configured whitelist and time limit.",
        tags=("shell", "execute"),
        kind="shell_command",
        is_read_only=False,
        is_open_world=True,
        schema=_arguments(("command",), command={"type": "string", "description": "The command line to run."}),
        config={"enabled": "boolean", "whitelist": "strings", "timeout_seconds": "integer", "working_dir": "string"},
    ),
    BuiltinTool(
        id="write",
        name="Write",
        description="Write text to a file, making folders on the way and replacing what was there.",
        tags=("filesystem", "write"),
        kind="file_operation",
        is_read_only=False,
        is_open_world=False,
        schema=_arguments(
            ("file_path", "content"),
            file_path=_FILE,
            content={"type": "string", "description": "The text to write."},
        ),
        config={"enabled": "boolean", "allowed_roots": "strings"},
    ),
    BuiltinTool(
        id="edit",
        name="Edit",
        description="Replace one piece of text in a file. Fails when the text is absent or occurs more than once.",
        tags=("filesystem", "write"),
        kind="file_operation",
        is_read_only=False,
        is_open_world=False,
        schema=_arguments(
            ("file_path", "old_string", "new_string"),
            file_path=_FILE,
            old_string={"type": "string", "description": "The text to replace, as it stands in the file."},
            new_string={"type": "string", "description": "The text to put in its place."},
        ),
        config={"enabled": "boolean", "allowed_roots": "strings"},
    ),
    BuiltinTool(
        id="fetch",
        name="Fetch",
        description="Get a web page or its headers from an allowed host, up to a size; may save the body to a file.",
        tags=("network", "read"),
        kind="native_tool",
        is_read_only=False,
        is_open_world=True,
        schema=_arguments(
            ("url",),
            url={"type": "string", "description": "An http or https address."},
            method={"type": "string", "enum": ["GET", "HEAD"], "description": "GET unless stated."},
            save_path={"type": "string", "description": "Where to save the body, relative to the download folder."},
            headers={"type": "object", "additionalProperties": {"type": "string"}, "description": "Request headers."},
        ),
        config={
            "enabled": "boolean",
            "allowed_domains": "strings",
            "max_bytes": "integer",
            "timeout_seconds": "integer",
            "download_dir": "string",
            "allow_downloads": "boolean",
        },
    ),
)

BUILTIN_TOOLS: MappingProxyType[str, BuiltinTool] = MappingProxyType({tool.id: tool for tool in _TABLE})
"""By reserved id; case matters, so `Read` is free for anybody."""
