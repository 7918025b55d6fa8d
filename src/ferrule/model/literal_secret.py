"""Does a written value look like a credential? Asked of configuration, which should hold `${VAR}` placeholders instead."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LAST_WORDS = frozenset(
    {
        *("token", "secret", "password", "passwd", "credential", "credentials", "authorization"),
        *("apikey", "accesskey", "privatekey"),
    }
)
_KEY_KINDS = frozenset({"api", "access", "private"})
_LOOKS_SECRET = re.compile(
    r"[A-Za-z][A-Za-z0-9+.:-]*://[^/?#\s:@]*:[^/?#\s@]+@"  # a URL with user:password@
    r"|sk-|ghp_|xoxb-|AKIA[0-9A-Z]{4}"
    r"|eyJ[A-Za-z0-9_-]+\."  # a JWT
)


def is_secret_name(name: str) -> bool:
    """Whether a key's last word or words name a credential, in any case style: `emailApiKey` does, `maxTokens` does not."""
    words = [word.lower() for word in _WORD.findall(name[-200:])]
    if not words:
        return False
    return words[-1] in _LAST_WORDS or (len(words) > 1 and words[-1] == "key" and words[-2] in _KEY_KINDS)


def is_literal_secret(name: str, value: object) -> bool:
    """Whether the value under this key looks like a credential written out. Only strings without `${` can."""
    if not isinstance(value, str) or not value.strip() or "${" in value:
        return False
    return is_secret_name(name) or _LOOKS_SECRET.match(value) is not None
