"""AWS Lambda through its Invoke API. A failure of the function is told apart from a failure of the invocation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.clouds.aws import Aws, make_aws_failure
from ferrule.infra.network.client import Fetched
from ferrule.model.failure import ErrorClass, excerpt
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import CloudIdentity
from ferrule.runtime.executors.lambda_.function import FunctionAnswer, FunctionPayload, LambdaSettings

MAX_REQUEST = 6 * 1024**2
MAX_EVENT = 256 * 1024
MAX_ANSWER = 6 * 1024**2 + 64 * 1024
"""The limit of AWS, 6 MB, and some room."""
LONGEST_SECONDS = 910.0
"""The limit of AWS, fifteen minutes, and some seconds."""
_ARN = re.compile(r"arn:aws[a-z-]*:lambda:([a-z0-9-]+):[0-9]*:function:([A-Za-z0-9_-]+)(?::([A-Za-z0-9$_.-]+))?")
_ERROR_TYPE = re.compile(r"[A-Za-z0-9_.$:-]{1,128}")
_LONGEST_TEXT = 2_000
_CLASSES: dict[str, ErrorClass] = {"Sandbox.Timedout": "timeout"}
"""Error types that Lambda itself reports; every other one is the function's own failure."""


class AwsFunction:
    """One Lambda function, by its ARN."""

    def __init__(
        self, aws: Aws, identity: CloudIdentity, settings: LambdaSettings, tool_id: str, codes: Mapping[str, ErrorCode]
    ) -> None:
        """Raises ExecutionFailed (`setup_required`) for an ARN that names no function."""
        found = _ARN.fullmatch(settings.function_id)
        if found is None:
            raise ExecutionFailed(
                "setup_required",
                f"the function of {tool_id!r} has to be named like arn:aws:lambda:REGION:ACCOUNT:function:NAME",
            )
        self._aws = aws
        self._identity = identity
        self._settings = settings
        self._codes = codes
        self._region = found[1]
        self._name, self._qualifier = found[2], found[3] or ""
        self._path = f"/2015-03-31/functions/{quote(settings.function_id, safe='')}"
        self._what = f"the function of {tool_id!r}"
        self.host = f"lambda {found[1]} {found[2]}"

    async def invoke(self, payload: FunctionPayload, context: Context) -> FunctionAnswer:
        """Invokes the function; waits for the result unless it is an event. Raises ExecutionFailed."""
        keys = await self._identity.aws_keys(self._aws, context)
        self._demand_small(payload)
        answer = await self._aws.request(
            "lambda",
            region=self._region,
            path=f"{self._path}/invocations",
            headers=[("Content-Type", payload.media_type), ("X-Amz-Invocation-Type", self._settings.invocation_type)],
            body=payload.content,
            keys=keys,
            timeout_seconds=LONGEST_SECONDS,
            listed_only=context.is_confined,
            max_bytes=MAX_ANSWER,
        )
        ref = self._ref(answer)
        failed = None
        if answer.status not in (200, 202):
            failed = self._status_failure(answer, context)
        # A function that fails was invoked successfully: its status is 200.
        elif "x-amz-function-error" in answer.headers:
            failed = self._function_failure(answer)
        if failed is not None:
            context.add_native_ref(**ref)
            raise failed
        return FunctionAnswer(answer.body, answer.headers.get("content-type", ""), ref)

    async def probe(self, context: Context) -> str:
        """Reads the function's configuration without running it. Raises ExecutionFailed."""
        keys = await self._identity.aws_keys(self._aws, context)
        answer = await self._aws.request(
            "lambda",
            region=self._region,
            method="GET",
            path=f"{self._path}/configuration",
            keys=keys,
            listed_only=context.is_confined,
        )
        if answer.status != 200:
            raise self._status_failure(answer, context)
        reported = read_json_object(answer.body)
        state = str(reported.get("State") or "Active")
        if state not in ("Active", "Inactive", "Pending"):
            raise ExecutionFailed("dependency_unavailable", f"{self._what} is in the state {state!r}")
        return (
            f"the function {self._name} in {self._region} is there ({reported.get('Runtime') or 'container'}, {state})"
        )

    def _demand_small(self, payload: FunctionPayload) -> None:
        limit = MAX_EVENT if self._settings.is_event else MAX_REQUEST
        if len(payload.content) > limit:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._what} takes {limit:,} bytes by {self._settings.invocation_type}, and this input has"
                f" {len(payload.content):,}; send less, or a reference",
                code="payload_too_large",
            )

    def _status_failure(self, answer: Fetched, context: Context) -> ExecutionFailed:
        failed = make_aws_failure(self._what, answer)
        if str(answer.status) in self._codes:
            failed.message += f". {self._codes[str(answer.status)]}"
        return self._identity.forget_if_refused(failed, context, self._aws)

    def _function_failure(self, answer: Fetched) -> ExecutionFailed:
        """Builds the failure that a function reported. Its text may hold anything, so it goes into the output only."""
        reported = read_json_object(answer.body)
        kind = reported.get("errorType")
        error_type = kind if isinstance(kind, str) and _ERROR_TYPE.fullmatch(kind) else "Unhandled"
        text = reported.get("errorMessage")
        output = {
            "error_type": error_type,
            "error_message": excerpt(text, _LONGEST_TEXT) if isinstance(text, str) else "",
        }
        return ExecutionFailed(
            _CLASSES.get(error_type, "execution_failed"),
            f"{self._what} ran and failed with {error_type}",
            code="function_error",
            native_error_ref=f"lambda:{error_type}",
            output=Output(output),
        )

    def _ref(self, answer: Fetched) -> JsonObject:
        found = {
            "function": self._name,
            "region": self._region,
            "request_id": answer.headers.get("x-amzn-requestid", ""),
            "executed_version": answer.headers.get("x-amz-executed-version", ""),
            "trace_id": answer.headers.get("x-amzn-trace-id", ""),
            "status": answer.status,
        }
        return {"source": "aws_lambda", **{name: value for name, value in found.items() if value}}
