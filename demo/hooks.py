"""What is asked before a call is decided. Whatever a hook changes stands in the call's record, beside what the model wrote."""

from __future__ import annotations

from pathlib import Path

from bookshop.shop import Shop

from ferrule.contracts.hook import HookInput, HookOutput

SHOP = Shop(Path(__file__).parent / ".ferrule" / "bookshop.db")


def customer_notice(told: HookInput) -> HookOutput | None:
    """Who gets money back hears of it, unless somebody said otherwise."""
    if "notify" in told.observable_input:
        return None
    return HookOutput(updated_input={**told.observable_input, "notify": True}, messages=("the customer gets a mail",))


def resolve_customer(told: HookInput) -> HookOutput | None:
    """Tidies the mail address, and finds the customer it belongs to."""
    email = str(told.observable_input["email"]).strip().lower()
    changed = {**told.observable_input, "email": email}
    customer_id = SHOP.customer(email)
    if customer_id is not None:
        changed["customer_id"] = customer_id
    return HookOutput(updated_input=changed) if changed != told.observable_input else None


def retention_guard(told: HookInput) -> HookOutput | None:
    """The tax office wants the invoices of seven years, whatever anybody asks."""
    if told.observable_input.get("keep_invoices") is True:
        return None
    return HookOutput(
        updated_input={**told.observable_input, "keep_invoices": True},
        messages=("invoices of the last seven years stay",),
    )
