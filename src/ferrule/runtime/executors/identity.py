"""The cloud identity of a tool: the process's own (`iam-role`), or one held in a secret (`service-account`, AML-68).

The executors of functions, queues and databases use it; the vault and the cloud clients are below it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.aws import Aws, AwsKeys
from ferrule.infra.credentials.shapes import ACCOUNTS
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import Target
from ferrule.model.credentials import Credentials
from ferrule.model.value import JsonObject


class CloudClient(Protocol):
    """A cloud client that caches the process's identity."""

    def forget(self) -> None:
        """Drops the cached identity, which the cloud refused."""


class CloudIdentity:
    """The credentials of one tool in the forms that clouds take."""

    def __init__(self, vault: Vault, credentials: Credentials, tool_id: str) -> None:
        self.credentials = credentials
        self._vault = vault
        self._tool_id = tool_id

    @property
    def is_own(self) -> bool:
        """True for the process's own identity."""
        return self.credentials.scheme == "iam-role"

    @property
    def is_account(self) -> bool:
        """True for an identity that a secret holds."""
        return self.credentials.scheme == "service-account"

    async def members(self, context: Context, required: Collection[str] = ()) -> JsonObject:
        """Returns the members of the secret's object. Raises ExecutionFailed."""
        return await self._vault.members(self.credentials, context, required)

    async def headers(self, context: Context) -> dict[str, str]:
        """Returns the headers that authenticate a plain HTTP request: a key, a token, or none."""
        return dict(await self._vault.headers(self.credentials, context))

    async def aws_keys(self, aws: Aws, context: Context) -> AwsKeys:
        """Returns the keys that sign requests to AWS. Raises ExecutionFailed."""
        if self.is_account:
            return aws.read_keys(await self.members(context, ACCOUNTS["aws"]))
        if self.is_own:
            return await aws.keys()
        raise self.unsupported_scheme("AWS")

    async def gcp_account(self, context: Context) -> JsonObject | None:
        """Returns the service account of Google Cloud; None for the process's own identity."""
        if self.is_account:
            return await self.members(context, ACCOUNTS["gcp"])
        if self.is_own:
            return None
        raise self.unsupported_scheme("Google Cloud")

    async def azure_account(self, context: Context) -> JsonObject | None:
        """Returns the client at Azure and its secret; None for the process's own identity."""
        if self.is_account:
            return await self.members(context, ACCOUNTS["azure"])
        if self.is_own:
            return None
        raise self.unsupported_scheme("Azure")

    def unsupported_scheme(self, cloud: str) -> ExecutionFailed:
        """Builds the failure for a credentials scheme that a cloud does not take."""
        return ExecutionFailed(
            "setup_required",
            f"{cloud} does not take credentials of scheme {self.credentials.scheme!r}, which {self._tool_id!r} has; use"
            " iam-role or service-account",
            code="scheme_unfit",
        )

    def forget_if_refused(
        self, failed: ExecutionFailed, context: Context, cloud: CloudClient | None = None
    ) -> ExecutionFailed:
        """Drops the cached secret and the cloud's cached tokens when the failure is a refusal of them; returns the failure."""
        if failed.code == "credential_refused":
            self._vault.forget_refused(self.credentials, context)
            if cloud is not None:
                cloud.forget()
        return failed


def demand_trusted(guard: Guard, target: Target, what: str, suffixes: tuple[str, ...] = ("",)) -> None:
    """Raises ExecutionFailed for an address that must not receive a token or signature: one without TLS, or outside the cloud it
    is for. Its receiver could act in our name. `[network] allow` lifts the rule; with no suffixes it is the only way."""
    if guard.lists(target):
        return
    if target.is_secure and any(f".{target.host}".endswith(suffix) for suffix in suffixes):
        return
    named = f"https at {' or '.join(f'*{suffix}' for suffix in suffixes)}, or " if suffixes else ""
    wanted = "use https, or " if "" in suffixes else f"use {named}" if named else ""
    raise ExecutionFailed(
        "policy_blocked",
        f"{what}: {target.host} must not be shown what we prove ourselves with; {wanted}name the host in [network] allow",
        code="address_forbidden",
    )
