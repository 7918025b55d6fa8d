"""The settings page, from the classes of ferrule.settings, and the tables that `ferrule check` reads with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ferrule import settings
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.model import serving, upstreams
from ferrule.model.persistence import RedactionSettings, ResultSettings
from ferrule.model.retry import RetrySettings
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.surface import SurfaceSettings
from ferrule.runtime.hooks.guardrail_records import GuardrailSettings
from ferrule.runtime.policy.read import ProjectChoices
from ferrule.runtime.policy.records import ENGINES, MODES
from ferrule.servers.api.field_docs import FieldDoc, fields_of
from scripts.reference.cells import cell

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
    '`[network.tls."HOST"]`': upstreams.HostTls,
    "`[secrets]`": settings.SecretSettings,
    "`[oauth.PROVIDER]`": OAuthProvider,
    "`[rest]`": upstreams.RestUpstreams,
    "`[mcp]`": upstreams.McpUpstreams,
    "`[mcp.servers.NAME]`": upstreams.McpServerSettings,
    "`[oxp]`": upstreams.OxpUpstreams,
    "`[oxp.servers.NAME]`": upstreams.OxpServer,
    "`[database]`": upstreams.DatabaseUpstreams,
    "`[queue]`": upstreams.QueueUpstreams,
    "`[human]`": upstreams.HumanUpstreams,
    "`[cache]`": upstreams.CacheUpstreams,
    "`[[hooks]]`": settings.HookSettings,
    "`[[guardrails]]`": GuardrailSettings,
    "`[scheduler]`": SchedulerPolicy,
    "`[results]`": ResultSettings,
    "`[redaction]`": RedactionSettings,
    "`[retries]`": RetrySettings,
    "`[builtins]`": settings.BuiltinSettings,
    "`[serve]`": serving.ServeSettings,
    "`[serve.limits]`": serving.LimitSettings,
    "`[serve.mcp]`": serving.McpSettings,
    "`[serve.oxp]`": serving.OxpSettings,
    "`[serve.jwt]`": serving.JwtSettings,
    "`[[serve.grants]]`": serving.GrantSettings,
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
    types = get_type_hints(cls)
    for field in fields_of(cls):
        if nested & set(re.findall(r"\w+", field.type)) or field.name == "policy":
            continue  # has a table of its own
        yield _row(field, types[field.name])


def _row(field: FieldDoc, kind: Any) -> str:
    default = "required" if field.default is None else f"`{_toml(field.default)}`"
    return f"| `{field.name}` | {_type(kind)} | {default} | {cell(field.text)} |"


def _policy() -> list[str]:
    rows = [
        f'| `{name}` | text | `"{default}"` | {POLICY[name]} |' for name, default in ProjectChoices()._asdict().items()
    ]
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


def _type(kind: Any) -> str:
    """A type in words, behind whatever name it has."""
    plain = {str: "text", bool: "true or false", int: "whole number", float: "number"}
    if kind in plain:
        return plain[kind]
    origin, inner = get_origin(kind), [part for part in get_args(kind) if part not in (type(None), Ellipsis)]
    if origin is Literal:
        return _words(inner)
    if origin is tuple:
        return _list(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in inner)
    return "table"


def _list(kind: Any) -> str:
    word = _type(kind)
    return f"list of {word}" if get_origin(kind) is Literal else f"list of {word}s"


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
