"""Security requirements as credentials: the first alternative that can be said, with secrets in environment variables."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import Broken
from ferrule.definitions.openapi.shape import SECURITY, mapping, text
from ferrule.definitions.openapi.wording import words_of
from ferrule.model.diagnostic import Severity
from ferrule.model.value import Path

NONE: dict[str, Any] = {"scheme": "none"}
CLIENT_ID = "ferrule"
_SAYS_NOTHING = frozenset(
    {"AUTH", "AUTHENTICATION", "AUTHORIZATION", "SCHEME", "SECURITY", "HEADER", "QUERY", "COOKIE"}
)
_FLOWS = ("clientCredentials", "application")
_USER_FLOWS = ("authorizationCode", "accessCode", "implicit", "password", "deviceAuthorization")
_BESIDE = ("api-key", "bearer-token")
_CARRIAGE = frozenset({"host", "content-length", "connection", "transfer-encoding", "cookie", "content-type"})


class Access(NamedTuple):
    """How a tool authenticates."""

    credentials: dict[str, Any]
    refs: tuple[str, ...] = ()
    """The schemes of the document that it stands for."""
    is_complete: bool = True
    """False when the service asks for more than can be said."""


class Security:
    """The security schemes of one document."""

    def __init__(self, document: OpenApi, prefix: str, client_id: str = "") -> None:
        """`prefix`: how variables begin that hold secrets."""
        self._document = document
        self._prefix = prefix
        self._client_id = client_id
        self._schemes, self._path = document.security_schemes
        self._known: dict[str, Access] = {}
        self._variables: dict[str, str] = {}
        self._recent: tuple[Any, Access] = ((), Access(NONE))

    def of(self, alternatives: tuple[dict[str, Any], ...] | None, path: Path) -> Access:
        """What an operation needs."""
        if not alternatives:
            return Access(NONE)
        recent, access = self._recent
        if recent is alternatives:
            return access
        mark = repr(alternatives)
        known = self._known.get(mark)
        if known is None:
            known = self._known[mark] = self._chosen(alternatives, path)
        self._recent = alternatives, known
        return known

    def _chosen(self, alternatives: tuple[dict[str, Any], ...], path: Path) -> Access:
        partly: Access | None = None
        for index, wanted in enumerate(alternatives):
            said = [self._said(name, scopes) for name, scopes in wanted.items()]
            usable = [each for each in said if each is not None]
            together = _together(usable)
            names = tuple(map(str, wanted))
            if len(said) == len(usable) and together is not None:
                rest = [" and ".join(map(str, each)) or "nothing" for each in alternatives[index + 1 :]]
                if rest:
                    self._document.tell(
                        SECURITY, path, f"of several ways to authenticate one is used; not: {'; '.join(rest)[:200]}",
                        Severity.INFO,
                    )  # fmt: skip
                return Access(together, names)
            if partly is None and usable:
                partly = Access(usable[0], names, is_complete=False)
        needed = "; or ".join(" and ".join(map(str, wanted)) for wanted in alternatives)[:200]
        self._document.tell(
            SECURITY,
            path,
            f"the service wants {needed}, which credentials cannot say; its tools are drafts",
            hint="see whether the service takes something else, or write `credentials` by hand",
        )
        return partly or Access(NONE, tuple(map(str, alternatives[0])), is_complete=False)

    def _said(self, name: str, scopes: Any) -> dict[str, Any] | None:
        """One scheme as credentials; None when there is no such thing."""
        if name not in self._schemes:
            self._document.tell(SECURITY, self._path, f"there is no security scheme {str(name)[:80]!r}")
            return None
        try:
            scheme, path = self._document.resolved(self._schemes[name], (*self._path, name), "a security scheme")
        except Broken as problem:
            self._document.keep(problem.finding)
            return None
        kind = text(scheme, "type").lower()
        if kind == "apikey":
            return self._api_key(name, scheme, path)
        if kind == "basic":
            return self._basic(name)
        if kind == "http":
            word = text(scheme, "scheme").lower()
            if word == "basic":
                return self._basic(name)
            return {"scheme": "bearer-token", **self._source(name, "TOKEN")} if word == "bearer" else None
        if kind == "oauth2":
            return self._oauth(name, scheme, scopes, path)
        if kind == "openidconnect":
            return {"scheme": "bearer-token", **self._source(name, "TOKEN")}
        return None

    def _api_key(self, name: str, scheme: dict[str, Any], path: Path) -> dict[str, Any] | None:
        place, key = text(scheme, "in"), text(scheme, "name")
        if not key or place not in ("header", "query", "cookie"):
            self._document.tell(SECURITY, path, "an API key needs a `name` and a place (`in`)")
            return None
        source = self._source(name, "KEY")
        if place == "header":
            if key.lower() in _CARRIAGE:
                return None
            if key.lower() == "authorization":
                described = text(scheme, "description").lower()
                if "bearer" in described or "bearer" in str(name).lower() or "jwt" in str(name).lower():
                    return {"scheme": "bearer-token", **self._source(name, "TOKEN")}
            return {"scheme": "api-key", "header": key, **source}
        return {"scheme": "api-key", "header": key, "x-in": place, **source}

    def _basic(self, name: str) -> dict[str, Any]:
        """`user:password` in one variable, shown as HTTP's Basic scheme has it."""
        source = self._source(name, "USER_AND_PASSWORD")
        return {"scheme": "api-key", "header": "Authorization", "x-encode": "basic", **source}

    def _oauth(self, name: str, scheme: dict[str, Any], scopes: Any, path: Path) -> dict[str, Any]:
        flows = mapping(scheme, "flows") or {text(scheme, "flow"): scheme}
        said = [scope for scope in scopes if isinstance(scope, str)] if isinstance(scopes, list) else []
        for flow in _FLOWS:
            url = text(mapping(flows, flow), "tokenUrl")
            if url.startswith(("https://", "http://")):
                if not self._client_id:
                    self._document.tell(
                        SECURITY,
                        path,
                        f"tokens are asked for as the client {CLIENT_ID!r}, which is made up",
                        hint="write your client's id as `x-client-id`, or give it with `--client-id`",
                    )
                return {
                    "scheme": "oauth2",
                    "provider": "azure",
                    "function_id": url,
                    "x-token-url": url,
                    "x-client-id": self._client_id or CLIENT_ID,
                    **({"scopes": said} if said else {}),
                    **self._source(name, "CLIENT_SECRET"),
                }
        if any(flow in flows for flow in _USER_FLOWS):
            self._document.tell(
                SECURITY, path, "tokens are given to people in a browser; put one into the variable", Severity.INFO
            )
        return {"scheme": "bearer-token", **self._source(name, "TOKEN")}

    def _source(self, name: str, ending: str) -> dict[str, str]:
        """An environment variable that says whose secret it holds."""
        parts = [word.upper() for word in words_of(str(name)) if word.isascii()]
        while parts and parts[-1] in _SAYS_NOTHING | {*ending.split("_")}:
            parts.pop()
        words = [self._prefix, *(word for word in parts if word not in self._prefix.split("_")), ending]
        variable = "_".join(word for word in words if word)
        variable = variable if not variable[0].isdigit() else f"API_{variable}"
        made, number = variable, 1
        while self._variables.setdefault(made, name) != name:
            number += 1
            made = f"{variable}_{number}"
        return {"source": "env", "name": made}


def _together(several: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Credentials that are shown with every request, all of them; None when they cannot stand side by side."""
    if not several:
        return NONE
    first, *others = sorted(several, key=lambda each: each["scheme"] in _BESIDE)
    places = [_place(each) for each in (first, *others)]
    if any(each["scheme"] not in _BESIDE for each in others) or len(set(places)) < len(places):
        return None
    return {**first, "x-and": others} if others else first


def _place(credentials: dict[str, Any]) -> tuple[str, str]:
    if credentials["scheme"] == "api-key":
        return credentials.get("x-in", "header"), credentials["header"].lower()
    return "header", "authorization"
