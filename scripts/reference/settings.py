"""The settings page, from the classes of ferrule.settings, and the tables that `ferrule check` reads with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ferrule import settings
from ferrule.model.policy import ENGINES, MODES
from ferrule.model.surface import SurfaceSettings
from ferrule.policy.read import Choices
from scripts.reference.fields import Field, cell, fields_of

TABLES = {
    "At the top": settings.Settings,
    "`[check]`": settings.CheckSettings,
    "`[[check.suppress]]`": settings.Suppress,
    "`[aml]`": settings.AmlSettings,
    "`[functions]`": settings.FunctionSettings,
    "`[surface]`": SurfaceSettings,
    "`[approval]`": settings.ApprovalSettings,
    "`[[approval.notify]]`": settings.NotifySettings,
    "`[ledger]`": settings.LedgerSettings,
    "`[[sinks]]`": settings.SinkSettings,
    "`[network]`": settings.NetworkSettings,
}
POLICY = {
    "file": "The security reviewer's rules.",
    "engine": f"Who reads them: {' or '.join(f'`{engine}`' for engine in ENGINES)}.",
    "cedar": 'The Cedar policies, with `engine = "cedar"`.',
    "shadow": "A policy to try beside `file`; it is recorded and changes nothing.",
}
HEAD = ("| key | type | default | |", "|---|---|---|---|")


def page() -> str:
    """Every key of ferrule.toml."""
    lines = [
        "# Settings",
        "",
        f"`{settings.FILE_NAME}` at the root of a workspace. Every key is optional; an unknown key is an error.",
        "",
    ]
    for title, cls in TABLES.items():
        lines += [f"## {title}", "", *HEAD, *_rows(cls), ""]
    return "\n".join([*lines, *_policy(), *_environment()])


def _rows(cls: type) -> Iterator[str]:
    nested = {table.__name__ for table in TABLES.values()}
    for field in fields_of(cls):
        if field.type in nested or any(f"[{name}" in field.type for name in nested) or field.name == "policy":
            continue  # has a table of its own
        yield _row(field)


def _row(field: Field) -> str:
    default = "required" if field.default is None else f"`{_toml(field.default)}`"
    return f"| `{field.name}` | {_type(field.type)} | {default} | {cell(field.text)} |"


def _policy() -> list[str]:
    rows = [f'| `{name}` | text | `"{default}"` | {POLICY[name]} |' for name, default in Choices()._asdict().items()]
    return [
        "## `[policy]`",
        "",
        *HEAD,
        *rows,
        f"| `mode` | {_words(MODES)} | `default` | What no rule decides. |",
        "| `rules` | list of tables | `[]` | `[[policy.rules]]`: the project's own rules. |",
        "| `groups` | table | `{}` | `[policy.groups]`: members by group. |",
        "| `classifiers` | list of tables | `[]` | `[[policy.classifiers]]`: what else is asked. |",
        "",
        "What a rule may say: [policy](../guide/policy.md). A mistake here refuses every call; `ferrule check` shows its line.",
        "",
    ]


def _environment() -> list[str]:
    return [
        "## Environment",
        "",
        "| variable | |",
        "|---|---|",
        "| `FERRULE_TOKEN` | Who runs a command: a token of `ferrule token add`, instead of the workspace's own. |",
        "| `FERRULE_POLICY` | A further policy file for this run (source `flag_settings`). |",
        "| `FERRULE_KEY_FILE` | The key that seals catalogs, instead of `.ferrule/keys/workspace.key`. |",
        "| `FERRULE_CACHE_DIR` | Where checks remember what they found. |",
        "| `NO_COLOR`, `FORCE_COLOR` | Colours: never, always. |",
        "",
    ]


def _type(text: str) -> str:
    words = {
        "str": "text",
        "bool": "true or false",
        "int": "whole number",
        "float": "number",
        "tuple[str, ...]": "list of texts",
        "dict[str, Any]": "table",
    }
    plain = re.sub(r"^Annotated\[(\w+), .*\]$", r"\1", text.removesuffix(" | None"))
    if plain.startswith("Literal["):
        return _words(ast.literal_eval(plain.removeprefix("Literal")))
    return words.get(plain, cell(plain))


def _words(words: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _toml(text: str) -> str:
    words = {"()": "[]", "False": "false", "True": "true", "None": "not set"}
    if text in words:
        return words[text]
    if re.fullmatch(r"[\d *]+", text):
        return str(eval(text))  # a product of numbers, as the source writes seconds
    if text.startswith("("):
        return "[" + text[1:-1].rstrip(",").replace("'", '"') + "]"
    return text.replace("'", '"')
