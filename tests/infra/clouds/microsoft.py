"""A small Azure: the login of applications, a Key Vault, functions and their management; written from its documentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.infra.clouds.far import Asked, Far, Reply, far

TENANT, CLIENT, SECRET = "11111111-2222-3333-4444-555555555555", "an-application", "azure~client~secret~8f1"
FUNCTION = "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Web/sites/app/functions/broker"


class Azure:
    """What it knows."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        """By `name`, or `name/version`."""
        self.scopes: dict[str, str] = {}
        """What each token is for."""
        self.secret = SECRET
        self.lasts = 3600
        self.function_answer: Any = {"access_token": "eyJ.from-the-broker", "expires_in": 3600}
        self.far: Far

    @property
    def url(self) -> str:
        return self.far.url

    def account(self) -> dict[str, str]:
        return {"tenant_id": TENANT, "client_id": CLIENT, "client_secret": SECRET}

    def environment(self) -> dict[str, str]:
        """The variables of a process that runs as its application."""
        return {
            "AZURE_TENANT_ID": TENANT,
            "AZURE_CLIENT_ID": CLIENT,
            "AZURE_CLIENT_SECRET": SECRET,
            "AZURE_AUTHORITY_HOST": f"{self.url}/",
            "AZURE_RESOURCE_MANAGER_URL": self.url,
        }

    def answer(self, asked: Asked) -> Reply:
        where = urlsplit(asked.path)
        scope = self.scopes.get(asked.bearer)
        if where.path == f"/{TENANT}/oauth2/v2.0/token":
            return self._token(asked)
        if where.path == "/api/broker":
            is_ours = (
                asked.headers.get("x-functions-key") == "the-function-key"
                or scope == f"https://{_host(self.url)}/.default"
            )
            return Reply(200, self.function_answer) if is_ours else Reply(401, b"")
        if where.path.startswith("/secrets/"):
            return self._secret(where.path, parse_qs(where.query), scope)
        if where.path.startswith(FUNCTION):
            return self._management(asked, where.path, scope)
        return Reply(404, {"error": {"code": "NotFound"}})

    def _token(self, asked: Asked) -> Reply:
        form = asked.form
        if form.get("grant_type") != "client_credentials" or form.get("client_id") != CLIENT:
            return Reply(400, {"error": "unauthorized_client", "error_codes": [700016]})
        if form.get("client_secret") != self.secret:
            return Reply(
                401, {"error": "invalid_client", "error_codes": [7000215], "error_description": "AADSTS7000215"}
            )
        token = f"eyJ.token-{len(self.scopes)}"
        self.scopes[token] = form["scope"]
        return Reply(200, {"token_type": "Bearer", "expires_in": self.lasts, "access_token": token})

    def _secret(self, path: str, query: dict[str, list[str]], scope: str | None) -> Reply:
        if scope != "https://vault.azure.net/.default":
            return Reply(401, {"error": {"code": "Unauthorized"}})
        name = path.removeprefix("/secrets/").rstrip("/")
        if query.get("api-version") != ["7.4"] or name not in self.secrets:
            return Reply(404, {"error": {"code": "SecretNotFound", "message": f"{name} was not found"}})
        return Reply(200, {"value": self.secrets[name], "id": f"{self.url}/secrets/{name}/v1"})

    def _management(self, asked: Asked, path: str, scope: str | None) -> Reply:
        if scope != f"{self.url}/.default":
            return Reply(401, {})
        if asked.method == "POST" and path == f"{FUNCTION}/listKeys":
            return Reply(200, {"default": "the-function-key"})
        return Reply(200, {"properties": {"invoke_url_template": f"{self.url}/api/broker"}})


def _host(url: str) -> str:
    return urlsplit(url).netloc


@contextmanager
def microsoft() -> Iterator[Azure]:
    """One of its own until the end of the block."""
    made = Azure()
    with far(made.answer) as server:
        made.far = server
        yield made
