"""A small Lambda: the Invoke interface in front of Python handlers that really run, each in a process of its own.

AWS's own emulation needs containers. This one checks signatures, limits and invocation types, and reports what a handler
raises as Lambda does; concurrency limits, versions and time limits are its tests' to play.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.infra.clouds.amazon import KEYS, REGION
from tests.infra.clouds.far import Asked, Far, Reply, far

ARN = f"arn:aws:lambda:{REGION}:123456789012:function:"
_BOOT = """
import json, sys, traceback
source, event = json.loads(sys.stdin.buffer.read())
space = {}
try:
    exec(source, space)
    print(json.dumps({"result": space["handler"](json.loads(event), None)}))
except BaseException as error:
    told = {"errorType": type(error).__name__, "errorMessage": str(error), "stackTrace": traceback.format_exc().splitlines()}
    print(json.dumps({"failed": told}))
"""


class Lambda:
    """Functions by name."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        """Python source with a `handler(event, context)`."""
        self.refusals: list[Reply] = []
        """Answered first, one by one, in place of an invocation."""
        self.invoked: list[tuple[str, bytes]] = []
        self.events: list[threading.Thread] = []
        self.running: list[subprocess.Popen[bytes]] = []
        self.begun = threading.Event()
        self._ids = itertools.count(1)
        self.far: Far

    @property
    def environment(self) -> dict[str, str]:
        return {**KEYS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL_LAMBDA": self.far.url}

    def answer(self, asked: Asked) -> Reply:
        ids = {"x-amzn-RequestId": f"request-{next(self._ids)}"}
        if not is_signed(asked, self.far.url):
            return Reply(
                403,
                {"message": "The security token included in the request is invalid."},
                {**ids, "x-amzn-ErrorType": "UnrecognizedClientException"},
            )
        parts = urlsplit(asked.path).path.split("/")
        name = unquote(parts[3]).removeprefix(ARN).partition(":")[0]
        if name not in self.functions:
            return Reply(
                404,
                {"Type": "User", "Message": f"Function not found: {name}"},
                {**ids, "x-amzn-ErrorType": "ResourceNotFoundException:http://internal.amazon.com/"},
            )
        if parts[-1] == "configuration":
            return Reply(200, {"FunctionName": name, "Runtime": "python3.11", "State": "Active"}, ids)
        return self._invoke(name, asked, ids)

    def _invoke(self, name: str, asked: Asked, ids: dict[str, str]) -> Reply:
        kind = asked.headers.get("x-amz-invocation-type", "RequestResponse")
        if len(asked.body) > (256 * 1024 if kind == "Event" else 6 * 1024**2):
            return Reply(413, {"message": "too large"}, {**ids, "x-amzn-ErrorType": "RequestTooLargeException"})
        try:
            json.loads(asked.body or b"null")
        except ValueError:
            return Reply(
                400,
                {"message": "Could not parse request body into json"},
                {**ids, "x-amzn-ErrorType": "InvalidRequestContentException"},
            )
        if self.refusals:
            refusal = self.refusals.pop(0)
            return refusal._replace(headers={**ids, **refusal.headers})
        self.invoked.append((name, asked.body))
        if kind == "Event":
            thread = threading.Thread(target=self._run, args=(name, asked.body))
            self.events.append(thread)
            thread.start()
            return Reply(202, b"", ids)
        found = self._run(name, asked.body)
        said = {**ids, "X-Amz-Executed-Version": "$LATEST", "Content-Type": "application/json"}
        if "failed" in found:
            return Reply(200, found["failed"], {**said, "X-Amz-Function-Error": "Unhandled"})
        return Reply(200, found["result"] if found["result"] is not None else b"null", said)

    def _run(self, name: str, event: bytes) -> dict[str, Any]:
        process = subprocess.Popen([sys.executable, "-I", "-c", _BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.running.append(process)
        if name == "slow":
            self.begun.set()
        written, _ = process.communicate(json.dumps([self.functions[name], event.decode() or "null"]).encode())
        found: dict[str, Any] = (
            json.loads(written)
            if written
            else {"failed": {"errorType": "Runtime.ExitError", "errorMessage": "it exited"}}
        )
        return found

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()
        for thread in self.events:
            thread.join(10)


def is_signed(asked: Asked, url: str) -> bool:
    """True when the signature is the one that these keys give."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415  # slow to import
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415
    from botocore.credentials import Credentials  # noqa: PLC0415

    shown = asked.headers.get("authorization", "")
    if "SignedHeaders=" not in shown:
        return False
    names = shown.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    headers = {name: asked.headers[name] for name in names if name in asked.headers}
    request = AWSRequest(asked.method, url + asked.path, headers=headers, data=asked.body)
    request.context["timestamp"] = asked.headers.get("x-amz-date", "")
    signer = SigV4Auth(Credentials(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"]), "lambda", REGION)
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return shown.endswith(f"Signature={signature}")


@contextmanager
def local_lambda(**functions: str) -> Iterator[Lambda]:
    """One until the end of the block."""
    made = Lambda()
    made.functions = functions
    with far(made.answer) as server:
        made.far = server
        try:
            yield made
        finally:
            made.close()
