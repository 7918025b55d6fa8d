"""The table of structural rules for the envelope of an ADL manifest: root, metadata, capabilities, server and language.

`blocks.py` has the optional blocks of `spec`, `tool_fields.py` tools, services and config.
"""

from __future__ import annotations

from ferrule.contracts.expect import mapping, matching, one_of, show
from ferrule.contracts.rule import Closed, Required, Row, RuleInfo
from ferrule.definitions.rules.adl.mapping_rows import FLAG, TEXT, TEXTS, EachItem, build_rows, whole_number
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue

API_VERSION = "adl.inference-gateway.com/v1"
LICENSES = (
    *("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "GPL-2.0", "GPL-3.0", "LGPL-2.1", "LGPL-3.0", "MPL-2.0"),
    *("ISC", "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "Unlicense", "Proprietary"),
)
LICENSE = one_of(*LICENSES)
PINNED = EachItem(matching(r"\S+@\S+", "a package with its version, such as name@1.2.3"))
SPEC_KEYS = frozenset(
    {
        *("capabilities", "server", "language", "card", "documentation", "examples", "agent", "config", "services"),
        *("acronyms", "tools", "skills", "artifacts", "hooks", "scm", "development", "deployment", "telemetry"),
    }
)
SUPERSEDED_SPEC_KEYS = frozenset({"sandbox", "ai"})
"""Known to have existed; `superseded_shape.py` reports them."""
_QUOTE = "write it in quotes, so that it is read as text"


def _expect_api_version(value: JsonValue) -> str | None:
    if value == API_VERSION:
        return None
    if isinstance(value, str) and value.startswith("adl.inference-gateway.com/"):
        return f"is the unsupported version {show(value)}; this tool reads {API_VERSION}"
    return f"must be {API_VERSION}, not {show(value)}"


def _expect_kind(value: JsonValue) -> str | None:
    return None if value == "Agent" else f"must be Agent, not {show(value)}"


_VENDOR = {"deps": PINNED, "devdeps": PINNED}

ROWS: tuple[Row, ...] = (
    Row("apiVersion", Required(), "ADL-1", hint=f"begin the manifest with `apiVersion: {API_VERSION}`"),
    Row("apiVersion", _expect_api_version, "ADL-1"),
    Row("kind", Required(), "ADL-1", hint="write `kind: Agent`"),
    Row("kind", _expect_kind, "ADL-1", hint="write `kind: Agent`"),
    Row("metadata", Required(), "ADL-1"),
    Row("spec", Required(), "ADL-1"),
    *build_rows(
        "metadata",
        "ADL-2",
        {
            "name": matching("[a-z0-9-]+", "lower-case letters, digits and hyphens"),
            "description": TEXT,
            "version": matching(r"[0-9]+\.[0-9]+\.[0-9]+", "three numbers such as 1.0.0"),
            "license": LICENSE,
            "tags": TEXTS,
        },
        required=("name", "description", "version"),
    ),
    *build_rows(
        "metadata.author", "ADL-2", {"name": TEXT, "email": TEXT, "url": TEXT}, required=("name",), closed=True
    ),
    Row("spec", mapping(), "ADL-3"),
    Row("spec", Closed(SPEC_KEYS | SUPERSEDED_SPEC_KEYS), "ADL-3", Severity.WARNING),
    Row("spec.capabilities", Required(), "ADL-3"),
    Row("spec.server", Required(), "ADL-3"),
    Row("spec.language", Required(), "ADL-3"),
    *build_rows(
        "spec.capabilities",
        "ADL-4",
        {"streaming": FLAG, "pushNotifications": FLAG, "stateTransitionHistory": FLAG},
        required=("streaming", "pushNotifications", "stateTransitionHistory"),
    ),
    *build_rows(
        "spec.server",
        "ADL-4",
        {"port": whole_number(1, 65535), "scheme": TEXT, "debug": FLAG},
        required=("port",),
    ),
    *build_rows("spec.server.auth", "ADL-4", {"enabled": FLAG}),
    *build_rows("spec.server.authz", "ADL-40", {"enabled": FLAG, "mode": one_of("allow-all", "deny-all", "custom")}),
    Row("spec.language", mapping(), "ADL-5"),
    *build_rows(
        "spec.language.go", "ADL-5", {"module": TEXT, "version": TEXT}, required=("module", "version"), hint=_QUOTE
    ),
    *build_rows(
        "spec.language.typescript",
        "ADL-5",
        {"packageName": TEXT, "nodeVersion": TEXT},
        required=("packageName", "nodeVersion"),
        hint=_QUOTE,
    ),
    *build_rows(
        "spec.language.rust",
        "ADL-5",
        {"packageName": TEXT, "version": TEXT, "edition": TEXT, "features": TEXTS},
        required=("packageName", "version", "edition"),
        hint=_QUOTE,
    ),
    *build_rows("spec.language.go.vendor", "ADL-5", _VENDOR, closed=True),
    *build_rows("spec.language.typescript.vendor", "ADL-5", _VENDOR, closed=True),
    *build_rows("spec.language.rust.vendor", "ADL-5", _VENDOR, closed=True),
)

PAGES: tuple[RuleInfo, ...] = (
    RuleInfo(
        "ADL-1",
        "malformed-manifest",
        Severity.ERROR,
        f"A manifest is one YAML document with `apiVersion: {API_VERSION}`, `kind: Agent`, `metadata` and `spec`.",
        "Why: these four say what the file is; another version of the language may mean other things by the same words.\n"
        "Bad:  apiVersion: adl.inference-gateway.com/v2\n"
        f"Good: apiVersion: {API_VERSION}",
    ),
    RuleInfo(
        "ADL-2",
        "malformed-metadata",
        Severity.ERROR,
        "`metadata` has a `name` in lower case with hyphens, a `description` and a three-number `version`; `author`, "
        "`license` and `tags` have the forms the language gives them.",
        "Why: the name is the namespace of the agent's tools and part of file names and addresses.\n"
        "Bad:  name: Support_Agent\nGood: name: support-agent",
    ),
    RuleInfo(
        "ADL-3",
        "malformed-spec",
        Severity.ERROR,
        "`spec` has `capabilities`, `server` and `language`, and its optional blocks have the forms the language gives "
        "them. A key the language does not know is a warning.",
        "Why: a misspelt block is otherwise ignored in silence.\nBad:  deployement: {type: cloudrun}\n"
        "Good: deployment: {type: cloudrun}",
    ),
    RuleInfo(
        "ADL-4",
        "malformed-server",
        Severity.ERROR,
        "`capabilities` answers `streaming`, `pushNotifications` and `stateTransitionHistory` with true or false, and "
        "`server` has a `port` from 1 to 65535.",
        "Why: other agents read the capabilities before they connect.\nBad:  server: {port: 70000}\n"
        "Good: server: {port: 8080}",
    ),
    RuleInfo(
        "ADL-40",
        "malformed-authorisation",
        Severity.ERROR,
        "`server.authz` holds `enabled` (true or false) and a `mode`: allow-all, deny-all or custom.",
        "Why: a misspelt mode must not fall back to allowing everything.\nBad:  authz: {mode: deny}\n"
        "Good: authz: {mode: deny-all}",
    ),
)
