"""Runs tools that are cloud functions.

A function cannot be stopped from here: whoever is told to stop closes the connection and waits no longer, and the function may go
on. `Support.cancel` is no, therefore. After a time-out the connection is kept, so that what the function gives in the end is
at least on record.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support
from ferrule.model.tool import Tool
from ferrule.runtime.executors.definition import error_codes, read_tool_credentials, read_transport
from ferrule.runtime.executors.identity import Identity
from ferrule.runtime.executors.lambda_.aws import AwsFunction
from ferrule.runtime.executors.lambda_.azure import AzureFunction
from ferrule.runtime.executors.lambda_.function import Answer, CloudFunction, LambdaSettings, Payload, Payloads
from ferrule.runtime.executors.lambda_.gcp import GcpFunction
from ferrule.runtime.executors.lambda_.http import HttpFunctions
from ferrule.runtime.executors.surroundings import Surroundings


class LambdaExecutor:
    """All cloud functions of one process."""

    support = Support(retries=True, credential_delegation=True)

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._clouds = around.clouds
        self._http = HttpFunctions(around.client, max_answer=around.upstreams.rest.max_response_bytes)
        self._runs: dict[tuple[str, bytes], LambdaRun] = {}
        """By tool and definition: surfaces share what was looked up."""

    def can_run(self, tool: Tool) -> bool:
        """True: `TransportExecutor` asks only for its own."""
        return True

    def prepare(self, tool: Tool) -> Run:
        """The tool's runner, one for all surfaces. Raises ExecutionFailed (`setup_required`)."""
        key = (tool.tool_id, bytes(tool.payload))
        if key not in self._runs:
            settings = read_transport(tool, LambdaSettings)
            identity = Identity(self._around.vault, read_tool_credentials(tool), tool.tool_id)
            payloads = Payloads(tool, is_raw=settings.payload_format == "raw")
            self._runs[key] = LambdaRun(self._function(tool, settings, identity), payloads, settings)
        return self._runs[key]

    async def aclose(self) -> None:
        """Let go of events that are still on their way."""
        await self._http.aclose()

    def _function(self, tool: Tool, settings: LambdaSettings, identity: Identity) -> CloudFunction:
        codes = error_codes(tool)
        match settings.provider:
            case "aws":
                return AwsFunction(self._clouds.aws, identity, settings, tool.tool_id, codes)
            case "gcp":
                return GcpFunction(self._clouds, self._http, identity, settings, tool.tool_id, codes)
            case "azure":
                return AzureFunction(
                    self._clouds, self._http, identity, settings, tool.tool_id, codes, self._around.learn
                )


class LambdaRun:
    """Runs one function."""

    support = LambdaExecutor.support

    def __init__(self, function: CloudFunction, payloads: Payloads, settings: LambdaSettings) -> None:
        self._function = function
        self._payloads = payloads
        self._settings = settings
        self.upstream = function.host

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Output:
        """The function's output, or the acknowledgement of an event (AML-51)."""
        payload = self._payloads.write(arguments)
        answer = await self._invoked(payload, context)
        if not self._settings.is_event:
            return self._payloads.read(answer.body, answer.media_type, answer.ref)
        ids = {name: value for name, value in answer.ref.items() if name in ("request_id", "function_execution_id")}
        accepted = {"status": "accepted", "invocation_id": context.invocation_id, **ids}
        return Output(accepted, native_refs=(answer.ref,), is_acknowledgement=True)

    async def probe(self, context: Context) -> str:
        """What is known about the function, without running it."""
        return await self._function.probe(context)

    async def _invoked(self, payload: Payload, context: Context) -> Answer:
        """The answer, unless somebody wants the call to stop first. A time-out does not close the connection."""
        running = asyncio.ensure_future(self._function.invoke(payload, context))

        def stop() -> None:
            if context.abort_reason != "timeout":
                running.cancel()

        context.on_abort(stop)
        try:
            return await running
        except asyncio.CancelledError:
            running.cancel()
            if not context.aborted or _is_canceled_itself():
                raise
            raise ExecutionFailed(
                "canceled", f"nobody waits any more; the function at {self._function.host} may still run"
            ) from None


def _is_canceled_itself() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
