"""The three clouds as one process sees them, each made on first use. All callers share their tokens and keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property

from ferrule.infra.clouds.aws import Aws
from ferrule.infra.clouds.azure import Azure
from ferrule.infra.clouds.gcp import Gcp
from ferrule.infra.network.client import Client


class Clouds:
    """The clouds of one process. Making it connects to nothing."""

    def __init__(
        self,
        client: Client,
        env: Mapping[str, str],
        learn: Callable[[str, str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """`learn` teaches the redactor a secret, under a name; `now` gives seconds since 1970."""
        self.client = client
        self.env = env
        self._learn = learn
        self._now = now

    @cached_property
    def aws(self) -> Aws:
        """Amazon's."""
        return Aws(self.client, self.env, self._learn)

    @cached_property
    def gcp(self) -> Gcp:
        """Google's."""
        return Gcp(self.client, self.env, self._learn, self._now)

    @cached_property
    def azure(self) -> Azure:
        """Microsoft's."""
        return Azure(self.client, self.env, self._learn, self._now)

    def forget(self) -> None:
        """Drops all tokens and keys after one was refused; the next request gets new ones."""
        for name in ("aws", "gcp", "azure"):
            # To ask for a cloud would make it; one that was never used has nothing to forget.
            if name in self.__dict__:
                self.__dict__[name].forget()
