"""How far a reply topic was read: an offset is kept only when everything before it was settled."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class Progress:
    """One consumer's."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._open: dict[Any, OrderedDict[int, bool]] = {}
        self._assigned: set[Any] = set()

    async def assign(self, aiokafka: Any, partitions: list[Any]) -> None:
        """Read these partitions from where they were left; those that are read already go on. Raises KafkaError."""
        if not partitions:
            raise aiokafka.errors.UnknownTopicOrPartitionError
        if set(partitions) != self._assigned:
            self._assigned = set(partitions)
            self._consumer.assign(partitions)

    def begin(self, partition: Any, offset: int) -> None:
        """A record was handed out."""
        self._open.setdefault(partition, OrderedDict())[offset] = False

    async def done(self, partition: Any, offset: int) -> None:
        """A record was settled."""
        waiting = self._open.get(partition)
        if waiting is None or offset not in waiting:
            return
        waiting[offset] = True
        reached: int | None = None
        while waiting and waiting[first := next(iter(waiting))]:
            reached = first
            del waiting[first]
        if reached is not None:
            await self._consumer.commit({partition: reached + 1})
