"""How the receiver of a webhook knows that it is genuine. Hooks are signed the same way (`infra/network/signature.py`)."""

from ferrule.infra.network.signature import DELIVERY_HEADER, SIGNATURE_HEADER, WINDOW_SECONDS, is_authentic, signature

__all__ = ["DELIVERY_HEADER", "SIGNATURE_HEADER", "WINDOW_SECONDS", "is_authentic", "signature"]
