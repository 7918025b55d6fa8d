"""The settings page, from the classes of ferrule.settings."""

from __future__ import annotations

from ferrule import settings
from scripts.reference.fields import cell, fields_of

TABLES = {
    "At the top": settings.Settings,
    "`[check]`": settings.CheckSettings,
    "`[[check.suppress]]`": settings.Suppress,
    "`[aml]`": settings.AmlSettings,
    "`[network]`": settings.NetworkSettings,
}


def page() -> str:
    """Every key of ferrule.toml."""
    nested = {cls.__name__ for cls in TABLES.values()}
    lines = [
        "# Settings",
        "",
        f"`{settings.FILE_NAME}` at the root of a workspace. Every key is optional; an unknown key is an error.",
        "",
    ]
    for title, cls in TABLES.items():
        lines += [f"## {title}", "", "| key | type | default | |", "|---|---|---|---|"]
        for field in fields_of(cls):
            if field.type in nested or any(f"[{name}" in field.type for name in nested):
                continue  # has a table of its own
            default = "required" if field.default is None else f"`{_toml(field.default)}`"
            lines.append(f"| `{field.name}` | {_type(field.type)} | {default} | {cell(field.text)} |")
        lines.append("")
    return "\n".join(lines)


def _type(text: str) -> str:
    words = {
        "str": "text",
        "bool": "true or false",
        "int": "whole number",
        "tuple[str, ...]": "list of texts",
        "str | None": "text",
        "dict[str, Any]": "table",
    }
    return words.get(text, cell(text))


def _toml(text: str) -> str:
    words = {"()": "[]", "False": "false", "True": "true", "None": "not set"}
    if text in words:
        return words[text]
    if text.startswith("("):
        return "[" + text[1:-1].rstrip(",").replace("'", '"') + "]"
    return text.replace("'", '"')
