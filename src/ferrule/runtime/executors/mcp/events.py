"""The older HTTP transport (2024-11-05): one stream of events that stays open, and an address that it names to write to.

Ours, because the official client's own ends at events of a megabyte and leaves requests waiting that could not be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.runtime.executors.mcp.stdio import Streams


@asynccontextmanager
async def event_streams(client: httpx2.AsyncClient, url: str, seconds: float) -> AsyncIterator[Streams]:
    """The messages of a server, as the official client wants them.

    Raises HTTPStatusError, TimeoutError when no address was named in time, ValueError for one at another server.
    """
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hear(source: httpx2.EventSource) -> None:
        async with read_in:
            try:
                async for event in source:
                    if event.event == "endpoint":
                        if not endpoint.done():
                            endpoint.set_result(_same_server(url, event.data))
                    elif event.event == "message" and event.data:
                        await read_in.send(_message(event.data))
            except (httpx2.HTTPError, httpx2.StreamError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            except ValueError as error:
                if not endpoint.done():
                    endpoint.set_exception(error)
            if not endpoint.done():
                endpoint.set_exception(ValueError("the stream of events ended before it named an address"))

    async def tell(address: str) -> None:
        async with write_out:
            async for message in write_out:  # one after the other: a server must not see a cancel before its request
                body = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                await client.post(address, json=body)  # what fails is told by the transport below

    async with (
        read_in, read_out, write_in, write_out,
        client.stream("GET", url, headers={"Accept": "text/event-stream"}) as response,
    ):  # fmt: skip
        response.raise_for_status()
        async with anyio.create_task_group() as group:
            group.start_soon(hear, httpx2.EventSource(response, max_event_size=None))
            try:
                async with asyncio.timeout(seconds):
                    address = await endpoint
                group.start_soon(tell, address)
                yield read_out, write_in
            finally:
                group.cancel_scope.cancel()


def _same_server(url: str, written: str) -> str:
    """The address to write to. Raises ValueError when it is at another server than the stream."""
    try:
        here, there = parse_url(url), parse_url(urljoin(url, written))
    except BadUrl as error:
        raise ValueError(str(error)) from None
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise ValueError("the address to write to is at another server")
    return there.url


def _message(data: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(data, by_name=False))
    except ValueError as error:
        return error
