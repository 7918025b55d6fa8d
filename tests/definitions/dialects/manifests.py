"""A small ADL manifest, its tools, and what they compile to."""

from __future__ import annotations

import json
from typing import Any

from ferrule.contracts.dialect import Definition
from ferrule.definitions.compiler.read import read
from ferrule.definitions.dialects.adl import DIALECT
from ferrule.model.document import Document, Source
from ferrule.model.tool import Compiled


def document(text: str, name: str = "agent.yaml") -> Document:
    return read(Source(name, text.encode()))[0]


def manifest(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": "shop", "description": "Sells", "version": "2.0.1"},
        "spec": {
            "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
            "server": {"port": 80},
            "language": {"go": {"module": "m", "version": "1"}},
            **spec,
        },
    }


def compile_manifest(value: dict[str, Any]) -> Compiled:
    return DIALECT.compile(document(json.dumps(value)), Definition("adl.manifest", (), value), "elsewhere")


def user_tool(**fields: Any) -> dict[str, Any]:
    return {
        "id": "sell",
        "name": "sell",
        "description": "Sell a thing",
        "tags": ["sales"],
        "schema": {"type": "object", "properties": {"what": {"type": "string"}}},
        **fields,
    }
