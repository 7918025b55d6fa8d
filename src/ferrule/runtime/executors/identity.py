"""Who a tool is at a cloud: the process's own identity (`iam-role`), or the one in a secret (`service-account`, AML-68)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.aws import Aws, AwsKeys
from ferrule.infra.credentials.shapes import ACCOUNTS
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import Target
from ferrule.model.credentials import Credentials


class Cloud(Protocol):
    """What is asked who we are."""

    def forget(self) -> None:
        """It was not accepted: find it out again."""


class Identity:
    """The credentials of one tool, as clouds want them."""

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

    async def members(self, context: Context, required: Collection[str] = ()) -> dict[str, Any]:
        """The object of the secret. Raises ExecutionFailed."""
        return await self._vault.members(self.credentials, context, required)

    async def headers(self, context: Context) -> dict[str, str]:
        """What goes into a plain HTTP request: a key, a token, or nothing."""
        return dict(await self._vault.headers(self.credentials, context))

    async def aws_keys(self, aws: Aws, context: Context) -> AwsKeys:
        """What requests to AWS are signed with."""
        if self.is_account:
            return aws.keys_of(await self.members(context, ACCOUNTS["aws"]))
        if self.is_own:
            return await aws.keys()
        raise self.unfit("AWS")

    async def gcp_account(self, context: Context) -> dict[str, Any] | None:
        """The service account of Google Cloud; None for the process's own."""
        if self.is_account:
            return await self.members(context, ACCOUNTS["gcp"])
        if self.is_own:
            return None
        raise self.unfit("Google Cloud")

    async def azure_account(self, context: Context) -> dict[str, Any] | None:
        """The client and its secret at Azure; None for the process's own."""
        if self.is_account:
            return await self.members(context, ACCOUNTS["azure"])
        if self.is_own:
            return None
        raise self.unfit("Azure")

    def unfit(self, cloud: str) -> ExecutionFailed:
        """The failure of credentials that a cloud does not take."""
        return ExecutionFailed(
            "setup_required",
            f"{cloud} does not take credentials of scheme {self.credentials.scheme!r}, which {self._tool_id!r} has; use"
            " iam-role or service-account",
            code="scheme_unfit",
        )

    def told(self, failed: ExecutionFailed, context: Context, cloud: Cloud | None = None) -> ExecutionFailed:
        """A failure; when it says that the credentials were not accepted, they are forgotten, and the cloud's tokens too."""
        if failed.code == "credential_refused":
            self._vault.forget_refused(self.credentials, context)
            if cloud is not None:
                cloud.forget()
        return failed


def demand_trusted(guard: Guard, target: Target, what: str, suffixes: tuple[str, ...] = ("",)) -> None:
    """Raises ExecutionFailed for an address that must not be shown a token or signature: one without TLS, or not of the cloud
    that it is for. Whoever gets it could use it in our name. `[network] allow` lifts that, and alone does without suffixes."""
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
