"""Finds the identity of this process at AWS, and sends one signed request.

Keys come from the library's own chain (variables, profiles, web identity, containers, machines) or from a secret. The chain
works in a thread, for it reads files and asks the metadata service; it speaks for the operator, not for a definition, so it
does not go through the guard of the network. The library signs; the request goes through our guarded client.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import reach
from ferrule.infra.clouds.aws_errors import AwsError, make_aws_failure, read_aws_error
from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from ferrule.infra.drivers import load_driver
from ferrule.infra.network.client import DEFAULT_BYTES, Client, Fetched, Headers
from ferrule.infra.network.guard import Guard

_WEB_IDENTITY = {
    "web_identity_token_file": "AWS_WEB_IDENTITY_TOKEN_FILE",
    "role_arn": "AWS_ROLE_ARN",
    "role_session_name": "AWS_ROLE_SESSION_NAME",
}


def make_session(env: Mapping[str, str]) -> Any:
    """Returns a session of the library, with the given variables where they differ from the process's own."""
    session = load_driver("botocore.session").Session()
    variables: Mapping[str, tuple[Any, Any, Any, Any]] = session.session_var_map
    for name, (_, names, _, _) in dict(variables).items():
        for variable in [names] if isinstance(names, str) else names or ():
            if variable in env:
                session.set_config_variable(name, env[variable])
                break
    return session


def find_credentials(session: Any, env: Mapping[str, str]) -> Any | None:
    """Returns the first credentials of the library's chain; None when it finds none. Blocks."""
    known = load_driver("botocore.credentials")
    # The library's own providers read `os.environ`; those made here also see what only `.env` has (decision 0022).
    found = known.EnvProvider(environ=env).load()
    if found is not None:
        return found
    chain = session.get_component("credential_provider")
    if env.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        said = {name: env[variable] for name, variable in _WEB_IDENTITY.items() if env.get(variable)}
        provider = known.AssumeRoleWithWebIdentityProvider(
            load_config=lambda: {"profiles": {"given": said}},
            client_creator=session.create_client,
            profile_name="given",
            cache={},
            disable_env_vars=True,
        )
        chain.insert_before("assume-role-with-web-identity", provider)
    chain.remove("container-role")
    chain.insert_before("iam-role", known.ContainerProvider(environ=env))
    if env.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        chain.remove("iam-role")
    return chain.load_credentials()


def find_region(session: Any, env: Mapping[str, str]) -> str | None:
    """Returns the region this process works in, from variables or the profile."""
    return env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or session.get_config_variable("region") or None


_KEEP_SECONDS = 60.0
"""After this the library is asked again: it knows which keys expire and renews them early, and finds changed files."""
_ID = "AWS access key id"
_SECRET = "AWS secret access key"
_TOKEN = "AWS session token"
_REGION = re.compile(r"[a-z0-9-]{1,64}")


class AwsKeys(msgspec.Struct, frozen=True):
    """The keys that sign requests."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    region: str | None = None

    def __repr__(self) -> str:
        return f"AwsKeys(region={self.region!r})"


class Aws:
    """AWS, as this process sees it."""

    def __init__(self, client: Client, env: Mapping[str, str], learn: Callable[[str, str], None]) -> None:
        """`learn` teaches the redactor a secret, under a name."""
        self._client = client
        self._env = env
        self._learn = learn
        self._kept: ExpiringCache[AwsKeys] = ExpiringCache()
        self._session: Any = None
        self._found: Any = None

    @property
    def guard(self) -> Guard:
        """The guard of the network."""
        return self._client.guard

    async def keys(self) -> AwsKeys:
        """Returns the keys of this process's own identity. Raises ExecutionFailed when it has none."""
        own = self._env.get("AWS_ACCESS_KEY_ID", ""), self._env.get("AWS_SECRET_ACCESS_KEY", "")
        return await self._kept.get((own, self._env.get("AWS_PROFILE", "")), self._find_keys)

    def read_keys(self, members: Mapping[str, object]) -> AwsKeys:
        """Returns the keys in a `service-account` secret (AML-68)."""
        keys = AwsKeys(
            str(members["access_key_id"]),
            str(members["secret_access_key"]),
            str(members["session_token"]) if members.get("session_token") else None,
            str(members["region"]) if members.get("region") else self.region(),
        )
        self._learn_keys(keys)
        return keys

    def region(self) -> str | None:
        """Returns the region of the environment."""
        return self._env.get("AWS_REGION") or self._env.get("AWS_DEFAULT_REGION") or None

    def forget(self) -> None:
        """Drops our own keys, which AWS refused, so that the next request looks for them again."""
        self._found = self._session = None
        self._kept.forget(lambda key: True)

    async def request(
        self,
        service: str,
        *,
        region: str | None = None,
        method: str = "POST",
        path: str = "/",
        query: Iterable[tuple[str, str]] = (),
        headers: Headers = (),
        body: bytes = b"",
        keys: AwsKeys | None = None,
        endpoint: str | None = None,
        timeout_seconds: float = 30.0,
        listed_only: bool = False,
        max_bytes: int = DEFAULT_BYTES,
    ) -> Fetched:
        """Returns the answer to one signed request, whatever its status. `path` is percent-encoded already, `query` is
        not.

        Without `keys` it uses this process's own identity. Raises ExecutionFailed when there is no answer.
        """
        used = keys or await self.keys()
        where = region or used.region
        if not where or not _REGION.fullmatch(where):
            raise ExecutionFailed(
                "setup_required", "no AWS region is said; set AWS_REGION, or name it where it is used"
            )
        url = (endpoint or self.endpoint(service, where)).rstrip("/") + path + _query(query)
        signed = _sign(used, service, where, method, url, headers, body)
        return await reach(
            self._client,
            f"AWS {service} in {where}",
            method,
            url,
            signed,
            body,
            timeout_seconds=timeout_seconds,
            listed_only=listed_only,
            max_bytes=max_bytes,
        )

    def endpoint(self, service: str, region: str) -> str:
        """Returns the address of a service, from `AWS_ENDPOINT_URL_<SERVICE>`, `AWS_ENDPOINT_URL`, or the region's own
        domain."""
        if self._env.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() != "true":
            name = _VARIABLES.get(service) or service.upper().replace("-", "_")
            said = self._env.get(f"AWS_ENDPOINT_URL_{name}") or self._env.get("AWS_ENDPOINT_URL")
            if said:
                return said
        fips = "-fips" if self._env.get("AWS_USE_FIPS_ENDPOINT", "").lower() == "true" else ""
        return f"https://{service}{fips}.{region}.{_domain(region)}"

    def rds_auth_token(self, keys: AwsKeys, host: str, port: int, user: str, region: str) -> str:
        """Returns a password, valid for fifteen minutes, for a database user that logs in by role."""
        request = load_driver("botocore.awsrequest").AWSRequest(
            method="GET", url=f"https://{host}:{port}/", params={"Action": "connect", "DBUser": user}
        )
        signer = load_driver("botocore.auth").SigV4QueryAuth(_credentials(keys), "rds-db", region, expires=900)
        signer.add_auth(request)
        token = str(request.url).removeprefix("https://")
        self._learn("RDS login token", token)
        return token

    async def _find_keys(self) -> Fresh[AwsKeys]:
        try:
            keys = await asyncio.to_thread(self._ask_library)
        except ExecutionFailed:
            raise
        except Exception as error:  # the library's chain has dozens of kinds, and some carry what was answered
            self.forget()
            raise ExecutionFailed(
                "credential_missing",
                f"the AWS identity of this process is unavailable: {type(error).__name__}; check its role or profile",
                code="identity_unavailable",
            ) from None
        if keys is None:
            raise ExecutionFailed(
                "credential_missing",
                "this process has no AWS identity; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or"
                " give its machine a role",
                code="identity_missing",
            )
        self._learn_keys(keys)
        # Keys about to expire are not kept: the library renews them at the next request.
        return Fresh(keys, 0.0 if _expires(self._found) and self._found.refresh_needed() else _KEEP_SECONDS)

    def _ask_library(self) -> AwsKeys | None:
        """Asks the library, in a thread. It renews expiring keys before they expire."""
        found = self._found
        # Keys that expire are renewed by the object that found them; others may have changed in their files.
        if found is None or not _expires(found):
            self._session = make_session(self._env)
            found = self._found = find_credentials(self._session, self._env)
        if found is None:
            return None
        frozen = found.get_frozen_credentials()
        return AwsKeys(
            frozen.access_key, frozen.secret_key, frozen.token or None, find_region(self._session, self._env)
        )

    def _learn_keys(self, keys: AwsKeys) -> None:
        self._learn(_ID, keys.access_key_id)
        self._learn(_SECRET, keys.secret_access_key)
        if keys.session_token:
            self._learn(_TOKEN, keys.session_token)


_VARIABLES = {"secretsmanager": "SECRETS_MANAGER"}


def _expires(found: object) -> bool:
    return found is not None and hasattr(found, "refresh_needed")


def _credentials(keys: AwsKeys) -> Any:
    known = load_driver("botocore.credentials")
    return known.Credentials(keys.access_key_id, keys.secret_access_key, keys.session_token)


def _sign(
    keys: AwsKeys, service: str, region: str, method: str, url: str, headers: Headers, body: bytes
) -> list[tuple[str, str]]:
    request = load_driver("botocore.awsrequest").AWSRequest(method=method, url=url, data=body, headers=dict(headers))
    load_driver("botocore.auth").SigV4Auth(_credentials(keys), service, region).add_auth(request)
    return [(str(name), str(value)) for name, value in request.headers.items()]


def _query(pairs: Iterable[tuple[str, str]]) -> str:
    text = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in pairs)
    return f"?{text}" if text else ""


@cache
def _domain(region: str) -> str:
    data = load_driver("botocore.loaders").create_loader().load_data("partitions")
    for partition in data["partitions"]:
        if region in partition["regions"] or re.match(partition["regionRegex"], region):
            return str(partition["outputs"]["dnsSuffix"])
    return "amazonaws.com"


__all__ = ["Aws", "AwsError", "AwsKeys", "make_aws_failure", "read_aws_error"]
