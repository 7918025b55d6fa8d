"""What a tool may ask the calling client for, and what a client has to be able to do for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MISSING = "client_capability_missing"
"""The error code of a call whose tool asked its client for what that has not declared; `native_error_ref` names it."""

_FEATURES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def feature_of(request: Mapping[str, Any]) -> str:
    """What a client has to be able to do to be asked this, in the words of `Context.client`; the method where none does."""
    method = request.get("method")
    params = request.get("params")
    params = params if isinstance(params, dict) else {}
    if method == "elicitation/create" and params.get("mode") == "url":
        return "elicitation.url"
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return "sampling.tools"
    return _FEATURES.get(str(method), str(method))


def undeclared(requests: Mapping[str, Mapping[str, Any]], client: frozenset[str]) -> list[str]:
    """What these requests need and the client has not declared, each once, in order."""
    return [feature for feature in dict.fromkeys(map(feature_of, requests.values())) if feature not in client]
