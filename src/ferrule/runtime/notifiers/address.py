"""Where a webhook may go: the same addresses as everything else that is posted (`infra/network/address.py`)."""

from ferrule.infra.network.address import Resolve, Target, checked_addresses, is_public, parse_target, resolve

__all__ = ["Resolve", "Target", "checked_addresses", "is_public", "parse_target", "resolve"]
