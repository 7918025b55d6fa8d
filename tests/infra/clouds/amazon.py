"""Moto's AWS on a loopback port, one for all tests of a process, and what they need to fill it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.request import Request, urlopen

REGION = "eu-west-1"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAFERRULETESTS0001",
    "AWS_SECRET_ACCESS_KEY": "aws+secret/of/the/tests/0123456789abcdef",
}


@cache
def _server() -> Any:
    from moto.server import ThreadedMotoServer  # noqa: PLC0415  # slow to import: only for whoever needs it
    from moto.sqs.models import Queue  # noqa: PLC0415

    queues: Any = Queue
    delete = queues.delete_message

    def delete_alone(queue: Any, receipt_handle: str) -> None:
        """One after the other. Two at once may both put back what they found, and what was sent meanwhile is lost."""
        with queue._messages_lock:
            delete(queue, receipt_handle)

    queues.delete_message = delete_alone
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    return server


class Amazon:
    """One empty AWS."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def environment(self) -> dict[str, str]:
        """The variables of a process with an identity of its own."""
        return {**KEYS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": self.url, "AWS_EC2_METADATA_DISABLED": "true"}

    def client(self, service: str, **options: Any) -> Any:
        """Amazon's own client, to fill it with."""
        import botocore.session  # noqa: PLC0415  # slow to import

        return botocore.session.Session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            **options,
        )

    def tell(self, path: str, body: Any) -> None:
        """A word to moto itself."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = Request(f"{self.url}/moto-api/{path}", data, {"Content-Type": "application/json"}, method="POST")
        with urlopen(request, timeout=10) as answer:
            answer.read()


@contextmanager
def amazon() -> Iterator[Amazon]:
    """An AWS with nothing in it."""
    _, port = _server().get_host_and_port()
    made = Amazon(port)
    made.tell("reset", b"")
    made.tell(
        "config", {"lambda": {"use_docker": True}}
    )  # it outlives a reset: a test may have chosen functions that do nothing
    yield made
