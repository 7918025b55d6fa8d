"""Converts security requirements to credentials: the first supported alternative, with secrets in environment variables."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import Broken
from ferrule.definitions.openapi.shape import SECURITY, read_object, read_text
from ferrule.definitions.openapi.wording import split_words
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject, Path

NONE: JsonObject = {"scheme": "none"}
CLIENT_ID = "ferrule"
_SAYS_NOTHING = frozenset(
    {"AUTH", "AUTHENTICATION", "AUTHORIZATION", "SCHEME", "SECURITY", "HEADER", "QUERY", "COOKIE"}
)
_FLOWS = ("clientCredentials", "application")
_USER_FLOWS = ("authorizationCode", "accessCode", "implicit", "password", "deviceAuthorization")
_BESIDE = ("api-key", "bearer-token")
_CARRIAGE = frozenset({"host", "content-length", "connection", "transfer-encoding", "cookie", "content-type"})


class ServiceAccess(NamedTuple):
    """The credentials of a tool."""

    credentials: JsonObject
    refs: tuple[str, ...] = ()
    """The security schemes of the document that they represent."""
    is_complete: bool = True
    """False when the service asks for more than credentials can express."""


class Security:
    """The security schemes of one document."""

    def __init__(self, document: OpenApi, prefix: str, client_id: str = "") -> None:
        """`prefix`: the first part of the names of variables that hold secrets."""
        self._document = document
        self._prefix = prefix
        self._client_id = client_id
        self._schemes, self._path = document.security_schemes
        self._known: dict[str, ServiceAccess] = {}
        self._variables: dict[str, str] = {}
        self._recent: tuple[Any, ServiceAccess] = ((), ServiceAccess(NONE))

    def resolve(self, alternatives: tuple[JsonObject, ...] | None, path: Path) -> ServiceAccess:
        """Returns the credentials for an operation with these alternatives."""
        if not alternatives:
            return ServiceAccess(NONE)
        recent, access = self._recent
        # Operations without requirements of their own share one tuple, so identity settles most calls.
        if recent is alternatives:
            return access
        mark = repr(alternatives)
        known = self._known.get(mark)
        if known is None:
            known = self._known[mark] = self._choose(alternatives, path)
        self._recent = alternatives, known
        return known

    def _choose(self, alternatives: tuple[JsonObject, ...], path: Path) -> ServiceAccess:
        partly: ServiceAccess | None = None
        for index, wanted in enumerate(alternatives):
            said = [self._convert_scheme(name, scopes) for name, scopes in wanted.items()]
            usable = [each for each in said if each is not None]
            together = _combine(usable)
            names = tuple(map(str, wanted))
            if len(said) == len(usable) and together is not None:
                rest = [" and ".join(map(str, each)) or "nothing" for each in alternatives[index + 1 :]]
                if rest:
                    self._document.report(
                        SECURITY, path, f"the first supported way to authenticate is used; not: {'; '.join(rest)[:200]}",
                        Severity.INFO,
                    )  # fmt: skip
                return ServiceAccess(together, names)
            if partly is None and usable:
                partly = ServiceAccess(usable[0], names, is_complete=False)
        needed = "; or ".join(" and ".join(map(str, wanted)) for wanted in alternatives)[:200]
        self._document.report(
            SECURITY,
            path,
            f"the service requires {needed}, which credentials cannot express; its tools are drafts",
            hint="check whether the service accepts something else, or write `credentials` by hand",
        )
        return partly or ServiceAccess(NONE, tuple(map(str, alternatives[0])), is_complete=False)

    def _convert_scheme(self, name: str, scopes: object) -> JsonObject | None:
        """Converts one scheme to credentials; returns None for a missing or unsupported one."""
        if name not in self._schemes:
            self._document.report(SECURITY, self._path, f"there is no security scheme {str(name)[:80]!r}")
            return None
        try:
            scheme, path = self._document.resolve(self._schemes[name], (*self._path, name), "a security scheme")
        except Broken as problem:
            self._document.add_finding(problem.finding)
            return None
        kind = read_text(scheme, "type").lower()
        if kind == "apikey":
            return self._convert_api_key(name, scheme, path)
        if kind == "basic":
            return self._convert_basic(name)
        if kind == "http":
            word = read_text(scheme, "scheme").lower()
            if word == "basic":
                return self._convert_basic(name)
            return {"scheme": "bearer-token", **self._name_variable(name, "TOKEN")} if word == "bearer" else None
        if kind == "oauth2":
            return self._convert_oauth(name, scheme, scopes, path)
        if kind == "openidconnect":
            return {"scheme": "bearer-token", **self._name_variable(name, "TOKEN")}
        return None

    def _convert_api_key(self, name: str, scheme: JsonObject, path: Path) -> JsonObject | None:
        place, key = read_text(scheme, "in"), read_text(scheme, "name")
        if not key or place not in ("header", "query", "cookie"):
            self._document.report(SECURITY, path, "an API key needs a `name` and a place (`in`)")
            return None
        source = self._name_variable(name, "KEY")
        if place == "header":
            if key.lower() in _CARRIAGE:
                return None
            # Swagger 2.0 has no bearer scheme, so its documents declare one as an API key.
            if key.lower() == "authorization":
                described = read_text(scheme, "description").lower()
                if "bearer" in described or "bearer" in str(name).lower() or "jwt" in str(name).lower():
                    return {"scheme": "bearer-token", **self._name_variable(name, "TOKEN")}
            return {"scheme": "api-key", "header": key, **source}
        return {"scheme": "api-key", "header": key, "x-in": place, **source}

    def _convert_basic(self, name: str) -> JsonObject:
        """Stores `user:password` in one variable, sent as HTTP's Basic scheme."""
        source = self._name_variable(name, "USER_AND_PASSWORD")
        return {"scheme": "api-key", "header": "Authorization", "x-encode": "basic", **source}

    def _convert_oauth(self, name: str, scheme: JsonObject, scopes: object, path: Path) -> JsonObject:
        flows = read_object(scheme, "flows") or {read_text(scheme, "flow"): scheme}
        said = [scope for scope in scopes if isinstance(scope, str)] if isinstance(scopes, list) else []
        for flow in _FLOWS:
            url = read_text(read_object(flows, flow), "tokenUrl")
            if url.startswith(("https://", "http://")):
                if not self._client_id:
                    self._document.report(
                        SECURITY,
                        path,
                        f"tokens are requested as the client {CLIENT_ID!r}, which is a placeholder",
                        hint="write your client's id as `x-client-id`, or give it with `--client-id`",
                    )
                return {
                    "scheme": "oauth2",
                    "provider": "azure",
                    "function_id": url,
                    "x-token-url": url,
                    "x-client-id": self._client_id or CLIENT_ID,
                    **({"scopes": said} if said else {}),
                    **self._name_variable(name, "CLIENT_SECRET"),
                }
        if any(flow in flows for flow in _USER_FLOWS):
            self._document.report(
                SECURITY, path, "users get tokens in a browser; put one into the variable", Severity.INFO
            )
        return {"scheme": "bearer-token", **self._name_variable(name, "TOKEN")}

    def _name_variable(self, name: str, ending: str) -> dict[str, str]:
        """Returns an environment variable whose name says which secret it holds."""
        parts = [word.upper() for word in split_words(str(name)) if word.isascii()]
        while parts and parts[-1] in _SAYS_NOTHING | {*ending.split("_")}:
            parts.pop()
        # Words of the prefix or the ending are not repeated: PETS_KEY, not PETS_PETS_KEY_KEY.
        words = [self._prefix, *(word for word in parts if word not in self._prefix.split("_")), ending]
        variable = "_".join(word for word in words if word)
        variable = variable if not variable[0].isdigit() else f"API_{variable}"
        made, number = variable, 1
        while self._variables.setdefault(made, name) != name:
            number += 1
            made = f"{variable}_{number}"
        return {"source": "env", "name": made}


def _combine(several: list[JsonObject]) -> JsonObject | None:
    """Combines credentials that are sent with every request; returns None when they would conflict."""
    if not several:
        return NONE
    # A scheme with a token exchange comes first; only fixed secrets can be sent beside another.
    first, *others = sorted(several, key=lambda each: each["scheme"] in _BESIDE)
    places = [_locate(each) for each in (first, *others)]
    if any(each["scheme"] not in _BESIDE for each in others) or len(set(places)) < len(places):
        return None
    return {**first, "x-and": others} if others else first


def _locate(credentials: JsonObject) -> tuple[str, str]:
    if credentials["scheme"] == "api-key":
        return credentials.get("x-in", "header"), credentials["header"].lower()
    return "header", "authorization"
