"""A small Service Bus, written from its documentation: send, receive under a lock, complete, unlock."""

from __future__ import annotations

import itertools
import json
import threading
from typing import Any
from urllib.parse import urlsplit

from tests.infra.clouds.far import Asked, Reply
from tests.infra.clouds.microsoft import Azure

SCOPE = "https://servicebus.azure.net/.default"


class ServiceBusServer:
    """Two queues: what is sent to `jobs`, and what waits in `replies`."""

    def __init__(self, azure: Azure) -> None:
        self._azure = azure
        self._ids = itertools.count(1)
        self._lock = threading.Condition()
        self.sent: list[Asked] = []
        self.waiting: list[dict[str, Any]] = []
        self.held: dict[str, dict[str, Any]] = {}
        self.completed: list[str] = []

    def answer(self, asked: Asked) -> Reply:
        if "oauth2" in asked.path:
            return self._azure.answer(asked)
        path = urlsplit(asked.path).path
        shared = asked.headers.get("authorization", "").startswith("SharedAccessSignature ")
        if not shared and self._azure.scopes.get(asked.bearer) != SCOPE:
            return Reply(401, b"")
        match (asked.method, path):
            case ("POST", "/jobs/messages"):
                self.sent.append(asked)
                return Reply(201, b"")
            case ("GET", "/jobs"):
                return Reply(200, b"<entry/>")
            case ("POST", "/replies/messages/head"):
                return self._head()
            case ("DELETE" | "PUT", _) if path.startswith("/replies/messages/"):
                return self._settle(asked.method, path.rpartition("/")[2])
        return Reply(404, b"")

    def reply(self, body: bytes, correlation: str = "", **headers: str) -> None:
        with self._lock:
            self.waiting.append({"body": body, "correlation": correlation, "headers": headers, "count": 0})
            self._lock.notify_all()

    def left(self) -> int:
        with self._lock:
            return len(self.waiting) + len(self.held)

    def _head(self) -> Reply:
        with self._lock:
            if not self._lock.wait_for(lambda: bool(self.waiting), timeout=0.3):
                return Reply(204, b"")
            message = self.waiting.pop(0)
            message["count"] += 1
            number = next(self._ids)
            token = f"lock-{number}"
            self.held[token] = message
        properties = {
            "MessageId": f"m{number}",
            "SequenceNumber": number,
            "LockToken": token,
            "DeliveryCount": message["count"],
        }
        if message["correlation"]:
            properties["CorrelationId"] = message["correlation"]
        return Reply(201, message["body"], {"BrokerProperties": json.dumps(properties), **message["headers"]})

    def _settle(self, method: str, token: str) -> Reply:
        with self._lock:
            message = self.held.pop(token, None)
            if message is None:
                return Reply(404, b"")
            if method == "PUT":
                self.waiting.append(message)
                self._lock.notify_all()
            else:
                self.completed.append(token)
        return Reply(200, b"")
