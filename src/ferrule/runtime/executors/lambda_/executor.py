"""Runs tools that are cloud functions.

A function cannot be stopped from here: a cancelled call closes the connection, and the function may go on, so
`Support.cancel` is False. After a timeout the connection stays open, so that the function's result is at least recorded.
"""

from __future__ import annotations

import asyncio

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import error_codes, read_tool_credentials, read_transport
from ferrule.runtime.executors.identity import CloudIdentity
from ferrule.runtime.executors.lambda_.aws import AwsFunction
from ferrule.runtime.executors.lambda_.azure import AzureCloudFunction
from ferrule.runtime.executors.lambda_.function import (
    CloudFunction,
    FunctionAnswer,
    FunctionPayload,
    LambdaSettings,
    Payloads,
)
from ferrule.runtime.executors.lambda_.gcp import GcpFunction
from ferrule.runtime.executors.lambda_.http import HttpFunctions
from ferrule.runtime.executors.transport_services import TransportServices


class LambdaExecutor:
    """Executor of all tools that are cloud functions."""

    support = Support(retries=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self._services = services
        self._clouds = services.clouds
        self._http = HttpFunctions(services.client, max_answer=services.upstreams.rest.max_response_bytes)
        self._runs: dict[tuple[str, bytes], LambdaRun] = {}
        """Runners by tool and definition: surfaces share addresses that were looked up."""

    def can_run(self, tool: Tool) -> bool:
        """Returns True: `TransportExecutor` passes only tools of this transport."""
        return True

    def prepare(self, tool: Tool) -> Run:
        """Returns the tool's runner, one for all surfaces. Raises ExecutionFailed (`setup_required`)."""
        key = (tool.tool_id, bytes(tool.payload))
        if key not in self._runs:
            settings = read_transport(tool, LambdaSettings)
            identity = CloudIdentity(self._services.vault, read_tool_credentials(tool), tool.tool_id)
            payloads = Payloads(tool, is_raw=settings.payload_format == "raw")
            self._runs[key] = LambdaRun(self._function(tool, settings, identity), payloads, settings)
        return self._runs[key]

    async def aclose(self) -> None:
        """Waits briefly for events that are being sent, then drops them."""
        await self._http.aclose()

    def _function(self, tool: Tool, settings: LambdaSettings, identity: CloudIdentity) -> CloudFunction:
        codes = error_codes(tool)
        match settings.provider:
            case "aws":
                return AwsFunction(self._clouds.aws, identity, settings, tool.tool_id, codes)
            case "gcp":
                return GcpFunction(self._clouds, self._http, identity, settings, tool.tool_id, codes)
            case "azure":
                return AzureCloudFunction(
                    self._clouds, self._http, identity, settings, tool.tool_id, codes, self._services.learn_secret
                )


class LambdaRun:
    """Runner of one cloud function."""

    support = LambdaExecutor.support

    def __init__(self, function: CloudFunction, payloads: Payloads, settings: LambdaSettings) -> None:
        self._function = function
        self._payloads = payloads
        self._settings = settings
        self.upstream = function.host

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Invokes the function; returns its output, or the acknowledgement of an event (AML-51). Raises ExecutionFailed."""
        payload = self._payloads.write(arguments)
        answer = await self._invoke_until_canceled(payload, context)
        if not self._settings.is_event:
            return self._payloads.read(answer.body, answer.media_type, answer.ref)
        ids = {name: value for name, value in answer.ref.items() if name in ("request_id", "function_execution_id")}
        accepted = {"status": "accepted", "invocation_id": context.invocation_id, **ids}
        return Output(accepted, native_refs=(answer.ref,), is_acknowledgement=True)

    async def probe(self, context: Context) -> str:
        """Checks the function without running it. Raises ExecutionFailed."""
        return await self._function.probe(context)

    async def _invoke_until_canceled(self, payload: FunctionPayload, context: Context) -> FunctionAnswer:
        """Invokes the function until the call is canceled. A timeout does not close the connection."""
        running = asyncio.ensure_future(self._function.invoke(payload, context))

        def stop() -> None:
            if context.abort_reason != "timeout":
                running.cancel()

        context.on_abort(stop)
        try:
            return await running
        except asyncio.CancelledError:
            running.cancel()
            # A cancellation of this task is passed on; only that of the request becomes a result.
            if not context.aborted or _is_task_canceled():
                raise
            raise ExecutionFailed(
                "canceled", f"nobody waits any more; the function at {self._function.host} may still run"
            ) from None


def _is_task_canceled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
