"""Secrets in environment variables, and, for development, in a file of them (`env_file.py`)."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.clouds import Clouds
from ferrule.model.credentials import SecretRef


class EnvironmentSource:
    """Environment variables."""

    def __init__(self, env: Mapping[str, str], clouds: Clouds) -> None:
        self._env = env

    def is_missing(self, ref: SecretRef) -> bool:
        """True when the variable is not set, or empty."""
        return not self._env.get(ref.name)

    async def fetch(self, ref: SecretRef) -> str:
        """The variable's value."""
        value = self._env.get(ref.name)
        if not value:
            raise SecretUnavailable(f"the environment variable {ref.name} is not set; set it, or put it into .env")
        return value
