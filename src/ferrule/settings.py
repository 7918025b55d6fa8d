"""The settings of a workspace, `ferrule.toml`, as typed records. Unknown keys are errors: a misspelt setting protects nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ferrule.contracts.registry import late
from ferrule.errors import SettingsError
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.model.credentials import SecretRef
from ferrule.model.hints import nearest
from ferrule.model.misfits import choices_at, describe_complaint, key_of, members_at, read_misfit
from ferrule.model.persistence import RedactionSettings, ResultSettings
from ferrule.model.retry import RetrySettings
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.serving import ServeSettings
from ferrule.model.surface import SurfaceSettings
from ferrule.model.upstreams import (
    CacheUpstreams,
    DatabaseUpstreams,
    HostTls,
    HumanUpstreams,
    McpUpstreams,
    OxpUpstreams,
    QueueUpstreams,
    RestUpstreams,
    Upstreams,
)
from ferrule.runtime.hooks.guardrail_records import GuardrailSettings

_parse: Callable[[str], dict[str, Any]] = late("tomllib:loads")

FILE_NAME = "ferrule.toml"


class Suppress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Silences one rule in some files: `[[check.suppress]]`."""

    rule: str
    """The rule's code."""
    reason: str
    """Why; shown to whoever asks."""
    path: str = "**"
    """A glob over paths relative to the workspace."""


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[check]`"""

    select: tuple[str, ...] = ()
    """Only these rules (codes, or prefixes such as `AML`); empty means all."""
    ignore: tuple[str, ...] = ()
    """Rules to leave out everywhere."""
    strict: bool = False
    """Warnings fail the check too."""
    compat: bool = False
    """Accept later OXP drafts with a warning (OXP-49)."""
    suppress: tuple[Suppress, ...] = ()
    exclude: tuple[str, ...] = ()
    """Globs of files never looked at."""


class AmlSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[aml]`"""

    approved_versions: tuple[str, ...] = ("1.2",)
    """Values of `spec_version` this platform accepts (AML-8)."""


class NetworkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[network]`"""

    allow: tuple[str, ...] = ()
    """Hosts that may be reached although they have private addresses, or without TLS: `host` or `host:port`. Webhooks, hooks
    and the built-in fetch obey it."""
    proxy: str = ""
    """The proxy that public hosts are reached through: `http://host:port`, or `https://` when the proxy speaks TLS itself. Empty:
    as the variables HTTPS_PROXY and HTTP_PROXY say. `none`: no proxy."""
    proxy_login_env: str = ""
    """The environment variable with the proxy's login, as `user:password`."""
    no_proxy: tuple[str, ...] = ()
    """Hosts that are reached without the proxy, beside those in the variable NO_PROXY: `host` (and all below it), `host:port`,
    an address, a network such as `10.0.0.0/8`, or `*`."""
    ca: str = ""
    """A file of certificates (PEM), relative to the workspace: authorities that count for every host, beside the system's."""
    tls: dict[str, HostTls] = {}
    """Authorities and client certificates of single hosts, by `host` or `host:port`."""


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tells people that a call waits for them: `[[approval.notify]]`."""

    kind: str
    """`webhook`, or the name of an installed notifier."""
    url: str = ""
    """Where to send it; `https`, or `http` to a host in `[network] allow`."""
    secret_env: str = ""
    """The environment variable with the secret that signs it."""
    include_input: bool = False
    """True: the call's arguments go along, sensitive ones masked."""


class ApprovalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approval]`"""

    expires_seconds: Annotated[int, msgspec.Meta(ge=1)] = 24 * 3600
    """How long a request stands when its rule does not say."""
    notify: tuple[NotifySettings, ...] = ()


class LedgerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[ledger]`"""

    path: str = ".ferrule/ledger.db"
    """The ledger's file, relative to the workspace."""
    witness: str = ""
    """Where signed heads are written besides: a file elsewhere, or an `https` address (`http` to a host in
    `[network] allow`). Without one a rollback is not seen."""
    read_only: Literal["behind", "durable"] = "behind"
    """Whether read-only calls are recorded behind the answer (within a second) or before it."""
    behind_seconds: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.25
    """How long such a row may wait for others to be written with."""


class FunctionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[functions]`"""

    modules: tuple[str, ...] = ()
    """Python files (relative to the workspace) or modules with functions that are tools."""
    paths: tuple[str, ...] = ()
    """Folders (relative to the workspace) that modules are imported from, beside the workspace itself."""
    bind: dict[str, str] = {}
    """Functions that run definitions: `refund-order = "shop.orders:refund"`, or a file of the workspace before the colon."""
    threads: Annotated[int, msgspec.Meta(ge=1)] = 32
    """How many plain functions run at the same time; others wait."""
    isolate: tuple[str, ...] = ()
    """Tools, by id or name, whose functions run in processes of their own."""
    processes: Annotated[int, msgspec.Meta(ge=1)] = 4
    """How many such processes there are at most."""


class SinkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where events go: `[[sinks]]`. Keys of other kinds than the chosen one are errors."""

    kind: str
    """`jsonl`, `log`, `callback`, or the name of an installed sink."""
    level: Literal["standard", "full"] = "standard"
    """`full` adds arguments and results, with sensitive members masked."""
    path: str | None = None
    """Of `jsonl`: the file, relative to the workspace."""
    fsync: bool | None = None
    """Of `jsonl`: wait for the disk after each batch."""
    max_bytes: int | None = None
    """Of `jsonl`: begin another file at this size; `PATH.1` is the one before."""
    keep: int | None = None
    """Of `jsonl`: how many earlier files stay (5)."""
    logger: str | None = None
    """Of `log`: the name of the Python logger (`ferrule.calls`)."""
    function: str | None = None
    """Of `callback`: a Python function, as `module:name`."""
    options: dict[str, Any] = {}
    """Whatever an installed sink wants to know."""

    def to_options(self) -> dict[str, Any]:
        """Returns the options of the sink itself."""
        names = ("path", "fsync", "max_bytes", "keep", "logger", "function")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        return said | self.options


class HookSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that runs around calls: `[[hooks]]`, in the order they are written."""

    id: str
    """Its name in records."""
    event: str
    """`pre_tool_use`, `post_tool_use`, `post_tool_use_failure`, `permission_request`, `permission_decision` or
    `result_persistence`."""
    kind: Literal["command", "http", "function"]
    tools: tuple[str, ...] = ("*",)
    """Ids or names of tools, with `*`; a call of any other tool is not shown to it."""
    command: tuple[str, ...] = ()
    """Of `command`: the program and its arguments; JSON on standard input and output."""
    url: str = ""
    """Of `http`: where to post; `https`, or `http` to a host in `[network] allow`."""
    secret_env: str = ""
    """Of `http`: the environment variable with the secret that signs what is posted."""
    function: str = ""
    """Of `function`: `module:name`."""
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=600)] = 5.0
    """A hook that takes longer has failed, and a failed hook blocks."""
    env: tuple[str, ...] = ()
    """Of `command`: environment variables it may see besides PATH, HOME and LANG."""


class BuiltinSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[builtins]`: the built-in tools that agent files list and enable."""

    sandbox: Literal["required", "preferred", "off"] = "required"
    """Commands run in a sandbox (bubblewrap); without one they are refused, unless it is only `preferred`, or `off`."""
    max_output_bytes: Annotated[int, msgspec.Meta(ge=1)] = 64 * 1024**2
    """What one command may write to its output; then it is ended."""


class SecretSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[secrets]`"""

    env_file: str = ".env"
    """A file of `NAME=value` lines, relative to the workspace, for development; the environment wins over it."""
    cache_seconds: Annotated[float, msgspec.Meta(ge=0)] = 300.0
    """How long a secret is kept before it is read again; a new run reads it anew in any case."""
    bindings: dict[str, SecretRef] = {}
    """Where the secrets are that OXP tools name in `requirements.secrets`, by their ids."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workspace's settings."""

    namespace: str | None = None
    """Namespace of AML tools; the folder's name when not set."""
    check: CheckSettings = CheckSettings()
    aml: AmlSettings = AmlSettings()
    network: NetworkSettings = NetworkSettings()
    approval: ApprovalSettings = ApprovalSettings()
    ledger: LedgerSettings = LedgerSettings()
    functions: FunctionSettings = FunctionSettings()
    surface: SurfaceSettings = SurfaceSettings()
    sinks: tuple[SinkSettings, ...] = ()
    hooks: tuple[HookSettings, ...] = ()
    guardrails: tuple[GuardrailSettings, ...] = ()
    scheduler: SchedulerPolicy = SchedulerPolicy()
    results: ResultSettings = ResultSettings()
    redaction: RedactionSettings = RedactionSettings()
    retries: RetrySettings = RetrySettings()
    builtins: BuiltinSettings = BuiltinSettings()
    secrets: SecretSettings = SecretSettings()
    oauth: dict[str, OAuthProvider] = {}
    rest: RestUpstreams = RestUpstreams()
    mcp: McpUpstreams = McpUpstreams()
    oxp: OxpUpstreams = OxpUpstreams()
    database: DatabaseUpstreams = DatabaseUpstreams()
    queue: QueueUpstreams = QueueUpstreams()
    human: HumanUpstreams = HumanUpstreams()
    cache: CacheUpstreams = CacheUpstreams()
    serve: ServeSettings = ServeSettings()
    policy: dict[str, Any] = {}
    """Rules and modes: see the policy guide. Checked by `ferrule check`, so that mistakes in it have lines."""


def make_upstreams(settings: Settings) -> Upstreams:
    """Returns the settings of the systems behind tools, for the executors."""
    return Upstreams(
        rest=settings.rest,
        mcp=settings.mcp,
        oxp=settings.oxp,
        database=settings.database,
        queue=settings.queue,
        human=settings.human,
        cache=settings.cache,
    )


def load_settings(root: Path) -> Settings:
    """Loads the settings of a workspace; defaults without a ferrule.toml. Raises SettingsError."""
    file = root / FILE_NAME
    if not os.path.lexists(file):
        return Settings()
    if not file.is_file():
        raise SettingsError(f"{file} is not a file, or a link that leads nowhere; mend or remove it")
    text = ""
    try:
        text = file.read_text(encoding="utf-8-sig")
        values = _parse(text)
        return msgspec.convert(values, Settings)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise SettingsError(
            f"{file}{_find_line(text, key_of(error))}: {describe_complaint(error)}{_advise(error)}"
        ) from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are kinds of it
        raise SettingsError(f"{file}: {error}") from None


def _find_line(text: str, key: str) -> str:
    """Returns the line of a key, as `:LINE`; empty when it is not certain."""
    if not key:
        return ""
    written = re.compile(rf"""\s*(?:\[+[^\]]*\b{re.escape(key)}\s*\]|["']?{re.escape(key)}["']?\s*=)""")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if written.match(line)]
    return f":{lines[0]}" if len(lines) == 1 else ""


def _advise(error: msgspec.ValidationError) -> str:
    words = choices_at(Settings, error)
    if words:
        return f" (write one of {', '.join(words)})"
    misfit = read_misfit(error)
    hint = nearest(misfit.key, members_at(Settings, misfit.steps)) if misfit.kind == "unknown_key" else None
    return f" ({hint})" if hint else ""
