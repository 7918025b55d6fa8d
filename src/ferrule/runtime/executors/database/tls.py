"""TLS for drivers that dial an address: what the certificate is checked against is the host's name all the same."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from ferrule.infra.network.public import is_public
from ferrule.runtime.executors.database.engine import BadMembers, Opening

_MODES = ("disable", "require", "verify-ca", "verify-full")


class NamedContext(ssl.SSLContext):
    """Checks certificates against one name, whatever address was dialled."""

    name: str = ""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None,
                 session: Any = None) -> ssl.SSLObject:  # fmt: skip
        """As the drivers call it, with the name in the place of the address."""
        return super().wrap_bio(incoming, outgoing, server_side, self.name or server_hostname, session)


def tls_of(opening: Opening, host: str, address: str) -> NamedContext | None:
    """What `sslmode` (or `ssl`) says; None without TLS. Raises BadMembers.

    When nothing is said, whoever answers at a public address, or is logged in to with a token, must prove its name; private
    addresses, which are only reached when they are listed, are spoken to as they are.
    """
    members, root = opening.members, opening.surroundings.root
    mode = _mode(members, "verify-full" if is_public(address) or opening.is_keyless else "disable")
    if mode == "disable":
        return None
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.name = host
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
        return context
    authority = members.get("sslrootcert")
    try:
        if not authority:
            context.load_default_certs()
        elif "-----BEGIN" in str(authority):
            context.load_verify_locations(cadata=str(authority))
        else:
            context.load_verify_locations(cafile=root / str(authority))
    except (OSError, ValueError, ssl.SSLError):
        raise BadMembers("'sslrootcert' must be certificates as PEM text, or a file with them") from None
    return context


def _mode(members: Mapping[str, Any], usual: str) -> str:
    said = members.get("sslmode", members.get("ssl"))
    if said is None:
        return usual
    if isinstance(said, bool):
        return "verify-full" if said else "disable"
    if said not in _MODES:
        raise BadMembers(f"'sslmode' must be one of {', '.join(_MODES)}")
    return str(said)
