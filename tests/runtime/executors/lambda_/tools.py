"""Tools that are cloud functions."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.infra.clouds.far import Asked, Far, Reply
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import Azure
from tests.runtime.executors.definitions import OBJECT, aml_file
from tests.runtime.executors.lambda_.runtime import ARN
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


STRICT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def aws_tool(name: str, **said: Any) -> str:
    """A function of AWS that has the tool's name."""
    return function_tool(name, "aws", ARN + said.pop("function", name), **said)


SAID = {"type": "object", "properties": {"said": {"type": "string"}}}


NAME = "projects/acme/locations/europe-west1/functions/broker"


def google_env(gcp: Google) -> dict[str, str]:
    """An environment with an account at Google Cloud."""
    return {"ACCOUNT": json.dumps(gcp.account()), "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDFUNCTIONS": f"{gcp.url}/"}


def azure_env(azure: Azure) -> dict[str, str]:
    """An environment with an account at Azure."""
    return {**azure.environment(), "ACCOUNT": json.dumps(azure.account())}


class Functions:
    """A function that a test plays."""

    def __init__(self) -> None:
        self.reply = Reply(200, {"text": "ok"})
        self.gate = threading.Event()
        self.gate.set()
        self.far: Far

    def answer(self, asked: Asked) -> Reply:
        """What it says, once the gate is open."""
        self.gate.wait(20)
        return self.reply

    def tool(self, **said: Any) -> str:
        """The tool that calls it."""
        said = {"credentials": {"scheme": "none"}, "x-url": f"{self.far.url}/fn", **said}
        return function_tool("ask", "gcp", NAME, **said)


REQUIRED = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
