"""Tools that are cloud functions."""

from __future__ import annotations

from typing import Any

from tests.runtime.executors.definitions import OBJECT, aml_file
from tests.runtime.executors.queue.tools import OWN

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def function_tool(tool_id: str, provider: str, function_id: str, **said: Any) -> str:
    """An AML file. `said`: other keys of the transport; `input`, `output`, `kind` and `error_codes` of the tool."""
    takes, gives = said.pop("input", TEXT), said.pop("output", OBJECT)
    kind, codes = said.pop("kind", "retrieval"), said.pop("error_codes", None)
    transport = {
        "type": "lambda",
        "provider": provider,
        "function_id": function_id,
        "invocation_type": "RequestResponse",
        "credentials": OWN,
        **said,
    }
    return aml_file(tool_id, transport, kind=kind, takes=takes, gives=gives, error_codes=codes)
