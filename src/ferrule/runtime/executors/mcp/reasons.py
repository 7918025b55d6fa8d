"""Why a connection to an MCP server ended: what the official client raises, and how programs end, in words of `failures.py`."""

from __future__ import annotations

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from ferrule.runtime.executors.mcp.failures import Mishap, of_network, of_rpc
from ferrule.runtime.executors.mcp.stdio import Program


def reason_of(error: BaseException) -> Mishap:
    """Why a connection did not come about, or ended, by what was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return of_rpc(error.code, error.message)
    if isinstance(error, httpx2.HTTPStatusError):
        return Mishap("dependency_unavailable", f"answered with HTTP {error.response.status_code}",
                      ref=f"http:{error.response.status_code}", status=error.response.status_code)  # fmt: skip
    if isinstance(error, TimeoutError):
        return Mishap("dependency_unavailable", "did not say where to write to", "no_endpoint")
    if isinstance(error, ValidationError | RuntimeError | ValueError):
        return Mishap("dependency_unavailable", "does not speak MCP as it should", "protocol_error", "mcp:handshake")
    return of_network(error) if isinstance(error, Exception) else Mishap("dependency_unavailable", "was left alone")


def ended(program: Program) -> Mishap:
    """How a program that was a server ended by itself."""
    code = program.exited.result()
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return Mishap("dependency_unavailable", how, "server_ended", f"exit:{code}", words=program.last_words)
