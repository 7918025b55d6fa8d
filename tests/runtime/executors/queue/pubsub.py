"""A small Pub/Sub, from its documentation: topics, subscriptions, pulls with leases. Tokens: `tests.infra.clouds.google`."""

from __future__ import annotations

import itertools
import json
import threading
from typing import Any

from tests.infra.clouds.far import Asked, Reply
from tests.infra.clouds.google import Google

TOPIC, REPLIES, SUBSCRIPTION = (
    "projects/acme/topics/jobs",
    "projects/acme/topics/replies",
    "projects/acme/subscriptions/replies-here",
)


class PubSubServer:
    """What it holds."""

    def __init__(self, google: Google) -> None:
        self._google = google
        self._ids = itertools.count(1)
        self._lock = threading.Condition()
        self.published: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []
        """Messages of the subscription that nobody holds."""
        self.held: dict[str, dict[str, Any]] = {}
        self.status = 0
        """Answered in place of everything, when set."""

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/token":
            return self._google.answer(asked)
        claims = self._google.tokens.get(asked.bearer)
        if claims is None or "pubsub" not in claims.get("scope", ""):
            return Reply(401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}})
        if self.status:
            return Reply(
                self.status, {"error": {"code": self.status, "status": "RESOURCE_EXHAUSTED"}}, {"Retry-After": "3"}
            )
        body = json.loads(asked.body) if asked.body else {}
        name, _, verb = asked.path.removeprefix("/v1/").partition(":")
        match (asked.method, name, verb):
            case ("GET", n, "") if n == TOPIC:
                return Reply(200, {"name": TOPIC})
            case ("GET", n, "") if n == SUBSCRIPTION:
                return Reply(200, {"name": SUBSCRIPTION, "topic": REPLIES})
            case ("POST", n, "publish") if n == TOPIC:
                return self._publish(body)
            case ("POST", n, "pull") if n == SUBSCRIPTION:
                return self._pull(body)
            case ("POST", n, "acknowledge") if n == SUBSCRIPTION:
                with self._lock:
                    for ack in body["ackIds"]:
                        self.held.pop(ack, None)
                return Reply(200, {})
            case ("POST", n, "modifyAckDeadline") if n == SUBSCRIPTION:
                self._give_back(body["ackIds"])
                return Reply(200, {})
        return Reply(404, {"error": {"code": 404, "status": "NOT_FOUND"}})

    def reply(self, data: str, **attributes: str) -> None:
        """Publish to the topic of replies."""
        with self._lock:
            self.waiting.append({"data": data, "attributes": attributes, "messageId": str(next(self._ids))})
            self._lock.notify_all()

    def left(self) -> int:
        with self._lock:
            return len(self.waiting) + len(self.held)

    def _publish(self, body: dict[str, Any]) -> Reply:
        ids = [str(next(self._ids)) for _ in body["messages"]]
        self.published += body["messages"]
        return Reply(200, {"messageIds": ids})

    def _pull(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            self._lock.wait_for(lambda: bool(self.waiting), timeout=0.3)
            taken, self.waiting = self.waiting[: body["maxMessages"]], self.waiting[body["maxMessages"] :]
            leases = {f"ack-{next(self._ids)}": message for message in taken}
            self.held |= leases
        return Reply(200, {"receivedMessages": [{"ackId": ack, "message": message} for ack, message in leases.items()]})

    def _give_back(self, acks: list[str]) -> None:
        """At once: nobody wants to wait for a deadline in a test."""
        with self._lock:
            self.waiting += [self.held.pop(ack) for ack in acks if ack in self.held]
            self._lock.notify_all()
