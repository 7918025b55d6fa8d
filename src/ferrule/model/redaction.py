"""What is taken out of results and records besides a tool's own sensitive fields: `[redaction]`."""

from __future__ import annotations

import msgspec


class RedactionPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[[redaction.patterns]]`: a regular expression and the name it is told under."""

    name: str
    pattern: str


class RedactionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[redaction]`"""

    secrets_env: tuple[str, ...] = ()
    """Environment variables whose values are secrets; they appear nowhere, in no encoding."""
    patterns: tuple[RedactionPattern, ...] = ()
    well_known: bool = True
    """Also take out what is shaped like a well-known token: `sk-…`, `ghp_…`, `AKIA…`, a JWT, a private key."""
