"""Makes providers with single rules, so that a test tries one rule at a time."""

from __future__ import annotations

from typing import Any

from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.rewriting import Rewriting

PLAIN = frozenset({"type", "description", "properties", "required", "items", "enum", "anyOf", "$ref", "$defs"})
"""Keywords that the provider takes unless a test says otherwise."""


def provider(**rules: Any) -> Profile:
    """A provider called Acme, with these rules and no others."""
    return Profile(**{"name": "acme", "title": "Acme", "accepted": PLAIN, **rules})


def rewriting(root: Any = None, draft: int = 2020, **rules: Any) -> Rewriting:
    """The rewriting of a schema for such a provider."""
    return Rewriting({} if root is None else root, provider(**rules), draft)
