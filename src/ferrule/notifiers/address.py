"""Where a webhook may go: the same addresses as everything else that is posted (`network/address.py`)."""

from ferrule.network.address import Resolve, Target, checked_addresses, is_public, parse_target, resolve

__all__ = ["Resolve", "Target", "checked_addresses", "is_public", "parse_target", "resolve"]
