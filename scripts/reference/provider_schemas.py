"""The page of what each provider takes as a schema, with where every fact comes from and since when."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.profiles import PROFILES
from ferrule.servers.api.field_docs import fields_of
from scripts.reference.cells import cell

_INTRODUCTION = """\
# What providers take

A tool's schema is rewritten for the provider it is sent to, by these facts. Nobody of this project has asked the providers' live
services: each line says where it was read or who saw it happen, and on which day. Lines marked *careful* are said by nobody; the
reading that fails least was taken. A provider may have changed since.

A field that is not in a table has no rule that is known.
"""
_LEFT_OUT = frozenset({"name", "title", "sources"})


def page() -> str:
    """One table for each profile."""
    lines = [_INTRODUCTION]
    for profile in PROFILES.values():
        lines += [
            f"## {profile.title}",
            "",
            f"Profile `{profile.name}`.",
            "",
            "| rule | is | source | seen |",
            "|---|---|---|---|",
        ]
        lines += _rows(profile)
        lines.append("")
    lines += ["## What the rules mean", "", "| rule | |", "|---|---|"]
    lines += [f"| `{field.name}` | {cell(field.text)} |" for field in fields_of(Profile) if field.name not in _LEFT_OUT]
    return "\n".join([*lines, ""])


def _rows(profile: Profile) -> list[str]:
    rows = []
    for field in msgspec.structs.fields(profile):
        source = profile.sources.get(field.encode_name)
        if field.encode_name in _LEFT_OUT or source is None:
            continue
        seen = source.seen if source.is_certain else f"{source.seen}, *careful*"
        rows.append(
            f"| `{field.encode_name}` | {_said(getattr(profile, field.encode_name))} | {cell(source.text)} | {seen} |"
        )
    return rows


def _said(value: Any) -> str:
    match value:
        case None:
            return "any"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case frozenset():
            return ", ".join(f"`{one}`" for one in sorted(value))
        case tuple():
            return " values, ".join(f"{one:,}" for one in value) + " characters"
        case _:
            return f"`{cell(str(value))}`"
