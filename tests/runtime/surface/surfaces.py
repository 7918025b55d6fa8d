"""Small tools, catalogs and circumstances for the tests of surfaces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.policy import PolicyProgram
from ferrule.contracts.surface import CatalogView, Provider
from ferrule.definitions.compiler.pack import pack
from ferrule.definitions.compiler.seal import public_half
from ferrule.definitions.content.linkage import replace_payload
from ferrule.model.canonical import digest_of_tool
from ferrule.model.catalog import Catalog
from ferrule.model.decision import Ruling
from ferrule.model.surface import Surface, SurfaceEntry, SurfaceRequest
from ferrule.model.tool import Record, Tool, raw
from ferrule.runtime.surface.build import build_surface
from ferrule.runtime.surface.catalogs import SealedCatalog

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def make_tool(name: str = "search", **changes: Any) -> Tool:
    """A tool of no particular dialect; its id has its namespace in front."""
    namespace = changes.get("namespace", "acme")
    fields: dict[str, Any] = {
        "tool_id": f"{namespace}.{name}",
        "namespace": namespace,
        "name": name,
        "description": f"Does {name}.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "python",
        "version": "1.0.0",
        "input_schema": raw(SCHEMA),
    }
    return Tool(**(fields | changes))


def make_declared_tool(name: str = "search", interface: dict[str, Any] | None = None, **fields: Any) -> Tool:
    """A tool of an Agent Tool declaration with an interface."""
    tool = make_tool(name, dialect="agent_tool", **fields)
    contract = {"model_input_schema": SCHEMA}
    return replace_payload(tool, {"input_contract": contract, "tool_interface": interface or {}})


def make_view(*tools: Tool, records: Sequence[Record] = ()) -> SealedCatalog:
    """A sealed catalog of these."""
    return SealedCatalog(Catalog.from_bytes(pack(tools, records, {}, KEY), (public_half(KEY),)))


def make_request(**fields: Any) -> SurfaceRequest:
    """A request of somebody."""
    return SurfaceRequest(**({"principal": "ada", "channel": "test"} | fields))


class FakeReadiness:
    """Has everything, except what a test takes away."""

    def __init__(
        self,
        *,
        missing: Collection[str] = (),
        is_set_up: bool = True,
        providers: dict[str, Provider] | None = None,
    ) -> None:
        self.missing = missing
        self.done = is_set_up
        self.providers = providers or {}

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        return [name for name in names if name in self.missing]

    def is_switched_on(self, tool: Tool) -> bool:
        return False

    def is_set_up(self, tool: Tool) -> bool:
        return self.done

    def provider(self, tool: Tool) -> Provider | None:
        return self.providers.get(tool.tool_id)


class DenyingPolicy:
    """A policy that denies some tools whatever they are called with, and fails on others."""

    digest = "d1"
    text = ""

    def __init__(self, *denied: str, breaks_on: str = "") -> None:
        self.denied = denied
        self.breaks_on = breaks_on

    def program(self, entry: SurfaceEntry, request: SurfaceRequest) -> PolicyProgram:
        raise NotImplementedError

    def surface_ruling(self, entry: SurfaceEntry, request: SurfaceRequest) -> Ruling | None:
        if entry.tool.tool_id == self.breaks_on:
            raise RuntimeError("broken")
        return Ruling("deny", "rule 7 denies it") if entry.tool.tool_id in self.denied else None


_numbers = count()


def new_id() -> str:
    """A fresh id."""
    return f"srf_{next(_numbers)}"


def make_surface(view: CatalogView, request: SurfaceRequest | None = None, **circumstances: Any) -> Surface:
    """A surface where everything is ready, unless a test says otherwise."""
    given: dict[str, Any] = {"engine": None, "now": 1, "new_id": new_id, "readiness": FakeReadiness()}
    return build_surface(view, request or make_request(), **(given | circumstances))


def list_standings(surface: Surface) -> dict[str, tuple[str, str | None]]:
    """Where each tool stands and why, by id."""
    return {tool_id: (entry.standing, entry.reason) for tool_id, entry in surface.entries.items()}


def make_agent_record(
    *tools: Tool, name: str = "helper", definition: dict[str, Any] | None = None, **payload: Any
) -> Record:
    """A compiled AML agent that may use these tools."""
    listed: list[dict[str, Any]] = [
        {
            "tool_id": tool.tool_id,
            "version": tool.version,
            "digest": digest_of_tool(tool),
            "approval_required": False,
            "approval_from": [],
            "max_calls_per_run": None,
        }
        for tool in tools
    ]
    compiled = {"definition": {"status": "active", **(definition or {})}, "tool_choice": "auto", "tools": listed}
    return Record(kind="agent", record_id=name, dialect="aml", version="1.0.0", payload=raw(compiled | payload))


def make_role_record(*grants: dict[str, Any], name: str = "reader", status: str = "active") -> Record:
    """A role with these grants."""
    payload = {"iam_id": name, "status": status, "tools": list(grants)}
    return Record(kind="role", record_id=name, dialect="aml", version="1.0.0", payload=raw(payload))


def make_surface_record(name: str = "desk", **fields: Any) -> Record:
    """A surface record."""
    payload = {"schema_version": "0.2.0", "surface_id": name, "scope": "task", **fields}
    return Record(kind="surface", record_id=name, dialect="agent_tool", payload=raw(payload))
