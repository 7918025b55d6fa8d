"""The three clouds as one process sees them, each made when it is first needed. Tokens and keys are shared by all who ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property

from ferrule.infra.clouds.aws import Aws
from ferrule.infra.clouds.azure import Azure
from ferrule.infra.clouds.gcp import Gcp
from ferrule.infra.network.client import Client


class Clouds:
    """Nothing is asked before somebody asks."""

    def __init__(
        self,
        client: Client,
        env: Mapping[str, str],
        learn: Callable[[str, str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """`learn` tells the redactor a secret, by the name it is told under; `now` gives seconds since 1970."""
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
        """Somebody did not accept who we are: find it out again."""
        for name in ("aws", "gcp", "azure"):
            if name in self.__dict__:
                self.__dict__[name].forget()
