"""The settings for the systems behind tools: `[rest]`, `[mcp]`, `[oxp]`, `[database]`, `[queue]`, `[human]`, `[cache]`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec

from ferrule.model.credentials import SecretRef

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class HostTls(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The certificates of one host and of its clients: `[network.tls."HOST"]`, or `"HOST:PORT"`."""

    ca: str = ""
    """A file of certificates (PEM), relative to the workspace: the only authorities that count for this host."""
    certificate: str = ""
    """A file with the client's certificate and those between it and its authority (PEM); it may hold the key too."""
    key: str = ""
    """A file with the key of the certificate (PEM)."""
    key_password_env: str = ""
    """The environment variable with the password of the key."""


class RestUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[rest]`"""

    max_response_bytes: Positive = 64 * 1024**2
    """A longer answer is a failure; it is counted after decompression."""
    max_attachment_bytes: Positive = 16 * 1024**2
    """A larger file is not sent, whether it came inside the arguments or by its address."""
    max_connections_per_host: Positive = 100
    """Calls beyond that wait for one."""


class McpServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server whose tools become tools of the workspace: `[mcp.servers.NAME]`. Either `command` or `url`."""

    command: tuple[str, ...] = ()
    """A program to start, with its arguments; it speaks MCP over its standard input and output."""
    env: dict[str, str] = {}
    """Of `command`: variables it gets besides PATH, HOME and LANG; `${NAME}` stands for one of this process."""
    cwd: str = ""
    """Of `command`: below the workspace."""
    url: str = ""
    """Where it listens: streamable HTTP, or the older HTTP with events."""
    protocol_version: str = ""
    """The revision to begin with; negotiated when not said."""
    credentials: dict[str, Any] = {}
    """As `transport.credentials` of an AML tool; `scheme: none` when not said."""
    tools: tuple[str, ...] = ("*",)
    """Names of the tools to take, with `*`."""


class McpProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs tools which are defined here: `[mcp.programs.NAME]`. It speaks MCP over its standard input
    and output, and calls each tool by its name; its own descriptions are not read, because the definitions have
    them."""

    command: tuple[str, ...]
    """The program, with its arguments."""
    tools: tuple[str, ...]
    """Ids of the tools it runs, with `*`: `clerk.*`."""
    env: dict[str, str] = {}
    """Variables it gets besides PATH, HOME and LANG; `${NAME}` stands for one of this process."""
    cwd: str = ""
    """The folder it runs in, below the workspace."""

    def runs(self, tool_id: str) -> bool:
        """Returns True for a tool that this program runs."""
        return any(fnmatchcase(tool_id, pattern) for pattern in self.tools)


class McpUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[mcp]`"""

    servers: dict[str, McpServerSettings] = {}
    programs: dict[str, McpProgram] = {}
    timeout_seconds: Seconds = 60.0
    """How long one call may take when nothing shorter is said; progress does not lengthen it."""
    connect_seconds: Seconds = 30.0
    """How long a server may take to start and to agree on a revision."""
    recheck_seconds: Seconds = 300.0
    """How long a server's definitions count as compared with the lock, unless it says that they changed."""
    require_lock: bool = False
    """True: AML tools of MCP servers run only when their server's definition is in `ferrule.lock`, too."""
    max_response_bytes: Positive = 64 * 1024**2
    """A longer answer is a failure."""


class OxpServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OXP server whose tools become tools of the workspace: `[oxp.servers.NAME]`."""

    url: str
    """Its base path: `https://tools.example.com/oxp`; `/tools` and `/tools/call` are below it."""
    api_key: SecretRef | None = None
    """Its key, shown as `OXP-API-Key`."""
    jwt_secret: SecretRef | None = None
    """The secret it shares with its clients: every request has a token of its own, signed with it."""
    jwt_audience: str = ""
    """What that token says it is for; nothing when not said."""
    credentials: dict[str, Any] = {}
    """Any other way to come in, as `transport.credentials` of an AML tool: a bearer token, for example."""
    tools: tuple[str, ...] = ("*",)
    """The tools to take, with `*`: `Calculator.*`, or in one version only, `Calculator.Add@1.0.0`."""
    compat: bool = False
    """Take the shapes of later drafts of the protocol (OXP-49)."""


class OxpUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[oxp]`"""

    servers: dict[str, OxpServer] = {}
    timeout_seconds: Seconds = 60.0
    """How long one call may take, with all its attempts, when nothing shorter is said."""
    attempts: Positive = 3
    """How often a call is tried that its server says may be retried (OXP-36)."""
    pending_seconds: Seconds = 24 * 3600.0
    """How long a call is asked about that waits for a person at its server; meanwhile it goes on in the background."""
    recheck_seconds: Seconds = 300.0
    """How long a server's definitions count as compared with the lock."""
    max_response_bytes: Positive = 64 * 1024**2
    """A longer answer is a failure."""


class DatabaseUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[database]`"""

    max_rows: Positive = 10_000
    """More rows are a failure, or are left off where the definition says `x-truncate`; `x-max-rows` says it for one tool."""
    max_bytes: Positive = 16 * 1024**2
    """The same for their size."""
    timeout_seconds: Seconds = 30.0
    """How long one call may take; a smaller `timeout_ms` of the definition wins."""
    pool_size: Positive = 10
    """Connections with the same credentials, for reading and for changing; calls beyond that wait for one."""


class QueueUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[queue]`"""

    reply_seconds: Positive = 24 * 3600
    """How long a call waits for its reply when its definition does not say."""
    set_aside: str = ".ferrule/set-aside"
    """Where messages go that cannot be read, each with the reason."""


class HumanUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[human]`"""

    expires_seconds: Positive = 7 * 24 * 3600
    """How long a task waits for its person when its definition does not say."""
    remind_seconds: Annotated[int, msgspec.Meta(ge=0)] = 4 * 3600
    """How long nobody has to have answered before people are told again; 0 for never."""
    callback_url: str = ""
    """Where answers to posted tasks come in: the address under which this workspace is served."""


class CacheUpstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[cache]`: results of retrievals, cached for a while. Nothing is cached unless a time is set."""

    ttl_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """For every AML tool of type `retrieval`; 0 keeps nothing."""
    tools: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = {}
    """For single tools, by id: seconds. Any tool that is stated to only read; an action's results are never kept."""
    max_entries: Positive = 1_000
    """Of more results, those that were not asked for longest go."""
    max_entry_bytes: Positive = 256 * 1024
    """A larger result is not kept."""


class Upstreams(msgspec.Struct, frozen=True, kw_only=True):
    """All settings for the systems behind tools."""

    rest: RestUpstreams = RestUpstreams()
    mcp: McpUpstreams = McpUpstreams()
    oxp: OxpUpstreams = OxpUpstreams()
    database: DatabaseUpstreams = DatabaseUpstreams()
    queue: QueueUpstreams = QueueUpstreams()
    human: HumanUpstreams = HumanUpstreams()
    cache: CacheUpstreams = CacheUpstreams()
