"""httpx2: the usual client alone. No tool, no validation, no record."""

from __future__ import annotations

import httpx2
from transports_timing import Ways, report, timed


async def main(port: int, calls: int, rounds: int) -> Ways:
    found: Ways = {}
    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=100)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits) as http:

        async def call(number: int) -> int:
            return (await http.get("/add", params={"a": number, "b": 1})).json()["sum"]

        await timed({"httpx2 alone": call}, calls, rounds, found)
    return found


if __name__ == "__main__":
    report(main)
