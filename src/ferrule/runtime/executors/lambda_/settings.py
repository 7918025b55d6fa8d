"""What a definition says about its function (AML-47 to 50), and the keys of our own that begin with `x-`."""

from __future__ import annotations

from typing import Literal

import msgspec


class LambdaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a tool that is a cloud function."""

    provider: Literal["aws", "gcp", "azure"]
    function_id: str
    invocation_type: Literal["RequestResponse", "Event"]
    payload_format: Literal["json", "raw"] = "json"
    url: str = msgspec.field(name="x-url", default="")
    """Of Google Cloud and Azure: where the function listens, so that nobody has to be asked."""
    audience: str = msgspec.field(name="x-audience", default="")
    """Whom a token is for: the function's own address when not said."""

    @property
    def is_event(self) -> bool:
        """True when nobody waits for the result."""
        return self.invocation_type == "Event"
