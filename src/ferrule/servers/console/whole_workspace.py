"""Pages about everybody's: only for who administers the workspace, and not a tenant of it. Others are told so, plainly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps

from ferrule.model.approval import ADMIN
from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.console.view import View

Serve = Callable[[View], Awaitable[Answer | Stream]]


def why_not(view: View) -> str:
    """Why somebody may not see what is about the whole workspace; empty for who may."""
    if not view.may(ADMIN):
        return "This takes a credential with the scope admin, and yours does not have it."
    tenant = view.caller.identity.tenant
    if tenant is not None:
        return f"This is about the whole workspace, and your credential is for the tenant {tenant}."
    return ""


def for_whole_workspace(title: str, about: str) -> Callable[[Serve], Serve]:
    """A page for who administers everything. Others get the reason, and what the page is about."""

    def around(serve: Serve) -> Serve:
        @wraps(serve)
        async def guarded(view: View) -> Answer | Stream:
            reason = why_not(view)
            if not reason:
                return await serve(view)
            if view.is_fragment:
                return view.fragment("problem_part.html", status=403, detail=reason)
            return await view.page("policy_closed.html", status=403, title=title, about=about, reason=reason)

        return guarded

    return around
