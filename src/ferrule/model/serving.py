"""The settings of the servers: the `[serve]` table of `ferrule.toml`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[serve.limits]`: the limits per caller and per request."""

    body_bytes: Positive = 4 * 1024**2
    depth: Positive = 128
    """How deep a body's JSON may be nested."""
    request_seconds: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """How long a request may be worked on before its caller is told to look later."""
    calls_at_once: Positive = 64
    """Calls of one principal that are worked on at the same time; others wait in line."""
    calls_waiting: Positive = 256
    """Calls of one principal that may stand in line; more are refused."""
    calls_in_all: Positive = 1024
    """Calls of everybody together that are worked on at the same time; those who wait take turns, principal by principal."""
    queue_seconds: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """How long a call may stand in line before it is refused."""
    calls_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Calls of one principal in any minute; 0: as many as it likes."""
    streams: Positive = 32
    """Streams and subscriptions that one principal may hold open."""
    sessions: Positive = 256
    """MCP sessions that one principal may have."""


class McpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[serve.mcp]`"""

    path: str = "/mcp"
    sessions: bool = True
    """Serve the revisions with sessions (2025-11-25 and before) too."""
    session_seconds: Positive = 3600
    """How long a session may be idle."""
    page_size: Positive = 1000
    """Tools, prompts or resources on one page of a list."""
    ttl_ms: Annotated[int, msgspec.Meta(ge=0)] = 60_000
    """How long a client may keep a list before it asks again."""
    wait_seconds: Annotated[float, msgspec.Meta(ge=0)] = 20.0
    """How long a call that waits for a person is waited for before its caller is told that it waits."""
    poll_after_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """After how long a session's stream is closed for its client to come back for the rest; 0: never."""
    task_after_seconds: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    """How long a call may take before a client that knows tasks gets one instead of waiting."""
    task_ttl_ms: Positive = 24 * 3600 * 1000
    """How long a task can be asked about."""
    task_names: bool = True
    """Demand the header `Mcp-Name` of requests about tasks, as the extension does. False is for clients that do not send it."""
    changes: bool = True
    """Tell clients when lists change. Without it nothing is announced, and nobody keeps a stream open for it."""
    deferred: Literal["search", "list"] = "search"
    """What clients get of deferred tools: tools to search and call them with, or the whole list with hints, for clients that
    defer by themselves."""
    safe_names: bool = False
    """Names of at most 64 characters without dots, as many models want them."""


class JwtSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[serve.jwt]`: access tokens of an authorization server (OAuth 2.1), for MCP and HTTP."""

    issuer: str
    """Exactly as it calls itself in its tokens: `https://login.example.com/`."""
    name: str = ""
    """A short word for it in the names of its people: with `corp`, the subject `ada` is `corp|ada`; else the issuer itself."""
    audience: str = ""
    """The resource that tokens must be for; the public address of this server when not given."""
    jwks_url: str = ""
    """Where the issuer's keys are; found through its metadata when not given."""
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    principal_claim: str = "sub"
    groups_claim: str = "groups"
    """Where its tokens say the groups of their people; `a.b` looks inside of `a`. Empty: its groups do not count."""
    tenant_claim: str = ""
    """Where its tokens say the tenant; a token without it is refused then."""
    agent_claim: str = ""
    role_claim: str = ""
    default_scopes: tuple[Literal["call", "approve", "admin"], ...] = ()
    """What every token of this issuer may do, for one that knows no scopes."""
    scopes: dict[str, str] = {}
    """Which of our scopes (`call`, `approve`, `admin`) a scope of the issuer's means: `"tools.call" = "call"`. The names
    themselves mean what they say."""
    leeway_seconds: Annotated[int, msgspec.Meta(ge=0)] = 30


class GrantSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[serve.grants]]`: properties of callers, by their identity. The first that matches counts; the credential's
    own statements win.

    A grant matches when all of `principal`, `group`, `of_tenant` and `issuer` that it has match; one without them
    matches everybody.
    """

    principal: str = ""
    """A principal; `*` stands for any text: `corp|*`."""
    group: str = ""
    """A group that the caller is in."""
    of_tenant: str = ""
    """The tenant that the credential says."""
    issuer: str = ""
    """Where the caller comes from: the name or address of an issuer in `[serve.jwt]`, or `local` for keys of `ferrule key` and
    tokens of `[serve.oxp] jwt_secret_env`; `oxp` for those tokens alone."""
    agent: str = ""
    """The agent of the catalog they call as."""
    role: str = ""
    """The role they are held to."""
    surface: str = ""
    """The surface record they follow."""
    tenant: str = ""
    """The tenant they belong to."""
    refuse: bool = False
    """Whoever it fits is not let in."""


class OxpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[serve.oxp]`"""

    path: str = "/oxp"
    auth: tuple[Literal["none", "api-key", "jwt", "bearer"], ...] = ("api-key", "jwt", "bearer")
    """Ways to come in. `none` is for loopback. `jwt`: HS256 with `jwt_secret_env`. `bearer`: the tokens of the other servers."""
    jwt_secret_env: str = ""
    """The environment variable with the secret that OXP clients sign their tokens with."""
    jwt_audiences: tuple[str, ...] = ()
    jwt_max_seconds: Positive = 900
    users: Literal["any", "own"] = "any"
    """For whom a credential may call: any user of its tenant, by `context.user_id`; or nobody but its own principal."""
    compat: bool = False
    """Take the shapes of later drafts (OXP-49)."""


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[serve]`"""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8787
    public_url: str = ""
    """The address clients use, where it is another: behind a proxy."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may be addressed to, besides those of loopback and of `public_url`."""
    origins: tuple[str, ...] = ()
    """Web origins that may call from a browser: `https://app.example.com`. None by default."""
    auth: bool = True
    """False lets everybody in who reaches the port; only loopback may do without."""
    processes: Positive = 1
    """How many server processes share the port."""
    reload: bool = True
    """Take changed definitions, settings of tools and locks while running."""
    shutdown_seconds: Annotated[float, msgspec.Meta(ge=0)] = 10.0
    """How long calls in flight get when the server is told to stop."""
    log_level: Literal["info", "warning", "error"] = "warning"
    """What the log on standard error has. `info`: also what nobody has to act on, such as each call over OXP with its trace."""
    limits: LimitSettings = LimitSettings()
    mcp: McpSettings = McpSettings()
    oxp: OxpSettings = OxpSettings()
    jwt: JwtSettings | tuple[JwtSettings, ...] | None = None
    """One authorization server, or several: `[[serve.jwt]]`."""
    grants: tuple[GrantSettings, ...] = ()

    @property
    def issuers(self) -> tuple[JwtSettings, ...]:
        """The authorization servers whose tokens count."""
        if self.jwt is None:
            return ()
        return self.jwt if isinstance(self.jwt, tuple) else (self.jwt,)
