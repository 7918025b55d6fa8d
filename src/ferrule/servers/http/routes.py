"""Every operation of the HTTP API. Adding one is one function and one record here; the OpenAPI document follows."""

from __future__ import annotations

from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.surface import SearchResult
from ferrule.servers.http import (
    approvals,
    audits,
    batches,
    callbacks,
    calls,
    catalog,
    checks,
    invocations,
    payloads,
    surfaces,
)
from ferrule.servers.http.ask import KEY, LAST_EVENT, PREFER, RUN
from ferrule.servers.http.outcomes import CallState
from ferrule.servers.http.route import EVENT_TYPE, JSON_TYPE, LINES_TYPE, Route

_CALL = (CALL,)
_OWN = (CALL, ADMIN)
_INBOX = (APPROVE, ADMIN)
_BOTH = (JSON_TYPE, EVENT_TYPE)

SURFACE = (
    Route(method="GET", path="/surface", serve=surfaces.get_surface, tag="Surface", scopes=_CALL, headers=(RUN,),
          summary="The caller's surface", gives=surfaces.SurfaceState, is_tagged=True),
    Route(method="GET", path="/tools", serve=surfaces.list_tools, tag="Surface", scopes=_CALL, headers=(RUN,),
          summary="The tools of the caller's surface", query=surfaces.ToolQuery, gives=surfaces.ToolPage, is_tagged=True),
    Route(method="GET", path="/tools/{tool}", serve=surfaces.get_tool, tag="Surface", scopes=_CALL, headers=(RUN,),
          summary="One tool, with its schemas", gives=surfaces.ToolState, problems=(404,), is_tagged=True),
    Route(method="POST", path="/search", serve=surfaces.search_tools, tag="Surface", scopes=_CALL, headers=(RUN,),
          summary="Find tools by what they do", body=surfaces.SearchBody, gives=SearchResult),
    Route(method="POST", path="/selection", serve=surfaces.select_tools, tag="Surface", scopes=_CALL, headers=(RUN,),
          summary="Load deferred tools, so that they can be called", body=surfaces.SelectionBody, gives=surfaces.Selection),
)  # fmt: skip
CALLS = (
    Route(method="POST", path="/calls", serve=calls.make_call, tag="Calls", scopes=_CALL, headers=(RUN, KEY, PREFER),
          summary="Use a tool",
          says="A call that was made is a 200, however its tool ended: `result.is_error` tells. One that was refused is a "
          "problem with the error class. One that has not ended yet is a 202 with its place.",
          body=calls.CallBody, gives=CallState, produces=_BOTH, statuses=(200, 202), problems=(404, 409, 422)),
    Route(method="POST", path="/checks", serve=checks.check_call, tag="Calls", scopes=_CALL, headers=(RUN,),
          summary="What would become of a call, without making it",
          says="Arguments are checked and the policy is asked, as for a call; nothing is run or recorded. What only shows when "
          "a call is made is left out: what the tool itself checks, hooks, limits of a run.",
          body=checks.CheckBody, gives=checks.CheckState, problems=(404, 409)),
    Route(method="GET", path="/calls/{invocation_id}", serve=calls.get_call, tag="Calls", scopes=_OWN, headers=(RUN, PREFER),
          summary="Where a call stands, or how it ended", gives=CallState, problems=(404,), is_tagged=True),
    Route(method="GET", path="/calls/{invocation_id}/events", serve=calls.follow_call, tag="Calls", scopes=_OWN,
          headers=(RUN, LAST_EVENT), summary="The progress of a call, and its result, as they come", produces=(EVENT_TYPE,),
          says="Server-sent events: `progress` (its number is the event's id), `waiting`, `result` (id `end`). A stream that "
          "was broken is taken up again with `Last-Event-ID`; after `end` there is nothing more (204).",
          statuses=(200, 204), problems=(404,)),
    Route(method="POST", path="/calls/{invocation_id}/cancel", serve=calls.cancel_call, tag="Calls", scopes=_OWN,
          summary="Ask that a call stops", body=calls.CancelBody, is_body_optional=True, gives=calls.CancelState,
          statuses=(200, 202), problems=(404,)),
    Route(method="POST", path="/calls/{invocation_id}/answers", serve=calls.answer_call, tag="Calls", scopes=_CALL,
          headers=(RUN, PREFER), summary="Give a tool what it asked its caller for", body=calls.AnswersBody, gives=CallState,
          statuses=(200, 202), problems=(404, 409)),
    Route(method="GET", path="/calls/{invocation_id}/payloads", serve=payloads.list_payloads, tag="Calls", scopes=_OWN,
          summary="What is stored of a call's output", gives=payloads.PayloadList, problems=(404,)),
    Route(method="GET", path="/calls/{invocation_id}/payloads/{number}", serve=payloads.get_payload, tag="Calls",
          scopes=_OWN, summary="The bytes of a stored result, or a range of them", produces=("*/*",), statuses=(200, 206),
          problems=(404, 410, 416), is_tagged=True),
    Route(method="POST", path="/batches", serve=batches.make_batch, tag="Calls", scopes=_CALL, headers=(RUN, PREFER),
          summary="Use many tools",
          says="Results come in call order, each as a call's of its own: one that failed fails nothing else, unless the "
          "batch says so. With `Accept: text/event-stream` they are told as they come.",
          body=batches.BatchBody, gives=batches.BatchState, produces=_BOTH, statuses=(200, 202), problems=(409,)),
)  # fmt: skip
APPROVALS = (
    Route(method="GET", path="/approvals", serve=approvals.list_approvals, tag="Approvals", scopes=_INBOX,
          summary="What waits for a person", gives=approvals.ApprovalList),
    Route(method="GET", path="/approvals/{invocation_id}", serve=approvals.get_approval, tag="Approvals", scopes=_INBOX,
          summary="One call that waits for a person", gives=approvals.ApprovalItem, problems=(404, 409)),
    Route(method="POST", path="/approvals/{invocation_id}/approve", serve=approvals.approve_call, tag="Approvals",
          scopes=(APPROVE,), headers=(PREFER,), summary="Say yes, as it is or with another input",
          says="Never by the channel that made the call. With enough people the call goes on at once.",
          body=approvals.ApproveBody, is_body_optional=True, gives=approvals.Decided, statuses=(200, 202),
          problems=(404, 409)),
    Route(method="POST", path="/approvals/{invocation_id}/reject", serve=approvals.reject_call, tag="Approvals",
          scopes=(APPROVE,), summary="Say no", body=approvals.RejectBody, gives=approvals.Decided, problems=(404, 409)),
    Route(method="POST", path="/approvals/{invocation_id}/answer", serve=approvals.answer_question, tag="Approvals",
          scopes=(APPROVE,), headers=(PREFER,), summary="Give a tool what it waits for", body=approvals.AnswerBody,
          gives=approvals.Decided, statuses=(200, 202), problems=(404, 409, 422)),
    Route(method="POST", path="/approvals/{invocation_id}/delegate", serve=approvals.delegate_task, tag="Approvals",
          scopes=(APPROVE,), summary="Hand a task on", body=approvals.DelegateBody, gives=approvals.Delegated,
          problems=(404, 409)),
    Route(method="POST", path="/approvals/{invocation_id}/settle", serve=approvals.settle_call, tag="Approvals",
          scopes=(APPROVE,), summary="Say whether a tool acted, where a crash left that unknown", body=approvals.SettleBody,
          gives=approvals.Decided, problems=(404, 409)),
)  # fmt: skip
ANSWERS = (
    Route(method="POST", path="/answers", serve=callbacks.take_answer, tag="Approvals", is_open=True,
          summary="Answer a task that was posted with a token",
          says="For `[human] callback_url`. The token answers exactly one call, exactly once, until it expires.",
          body=callbacks.CallbackBody, gives=callbacks.CallbackState, statuses=(200, 202), problems=(404,)),
)  # fmt: skip
INVOCATIONS = (
    Route(method="GET", path="/invocations", serve=invocations.list_invocations, tag="Invocations", scopes=_OWN,
          headers=(RUN,), summary="What was called: one's own calls, or those one oversees",
          query=invocations.InvocationQuery, gives=invocations.InvocationPage),
    Route(method="GET", path="/invocations/{invocation_id}", serve=invocations.get_invocation, tag="Invocations",
          scopes=_OWN, headers=(RUN,), summary="One call in a few words", gives=invocations.InvocationBrief,
          problems=(404,), is_tagged=True),
    Route(method="GET", path="/invocations/{invocation_id}/explain", serve=invocations.explain_invocation,
          tag="Invocations", scopes=_OWN, headers=(RUN,), summary="The whole story of one call",
          gives=invocations.Explanation, problems=(404,), is_tagged=True),
    Route(method="GET", path="/invocations/{invocation_id}/events", serve=invocations.list_invocation_events,
          tag="Invocations", scopes=_OWN, headers=(RUN,), summary="The events of one call", gives=invocations.EventList,
          problems=(404,), is_tagged=True),
)  # fmt: skip
CATALOG = (
    Route(method="GET", path="/catalog", serve=catalog.get_catalog, tag="Catalog", scopes=(ADMIN,), is_for_workspace=True,
          summary="What is in force", gives=catalog.CatalogState, is_tagged=True),
    Route(method="GET", path="/catalog/tools", serve=catalog.list_catalog_tools, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Every tool", query=catalog.CatalogQuery, gives=catalog.CatalogToolPage,
          is_tagged=True),
    Route(method="GET", path="/catalog/tools/{tool_id}", serve=catalog.get_catalog_tool, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="One tool in every version", gives=catalog.CatalogVersions, problems=(404,),
          is_tagged=True),
    Route(method="GET", path="/catalog/agents", serve=catalog.list_agents, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Every agent", query=catalog.PageQuery, gives=catalog.RecordPage, is_tagged=True),
    Route(method="GET", path="/catalog/roles", serve=catalog.list_roles, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Every role", query=catalog.PageQuery, gives=catalog.RecordPage, is_tagged=True),
    Route(method="GET", path="/switches", serve=catalog.list_switches, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Tools that are turned off", gives=catalog.SwitchList, is_tagged=True),
    Route(method="PUT", path="/switches/{tool_id}", serve=catalog.set_switch, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Turn a tool off or on, at once and in every process",
          says="Off: new calls are refused and waiting ones ended.", body=catalog.SwitchBody, gives=catalog.SwitchState,
          problems=(404,)),
    Route(method="POST", path="/policy/reload", serve=catalog.reload_policy, tag="Catalog", scopes=(ADMIN,),
          is_for_workspace=True, summary="Read the policy again", gives=catalog.PolicyState),
)  # fmt: skip
AUDIT = (
    Route(method="GET", path="/audit/heads", serve=audits.get_heads, tag="Audit", scopes=(ADMIN,), is_for_workspace=True,
          summary="The ledger's signed head", gives=audits.HeadList, problems=(409,)),
    Route(method="POST", path="/audit/verify", serve=audits.verify_audit, tag="Audit", scopes=(ADMIN,),
          is_for_workspace=True, summary="Prove that the ledger is what was written", gives=audits.Verification,
          problems=(409,)),
    Route(method="GET", path="/audit/export", serve=audits.export_audit, tag="Audit", scopes=(ADMIN,),
          is_for_workspace=True, summary="The ledger as lines of JSON", query=audits.ExportQuery, produces=(LINES_TYPE,),
          says="Rows with their hashes, the signed head and the public key: `ferrule audit verify --file` checks it by itself.",
          problems=(409,)),
)  # fmt: skip
ROUTES: tuple[Route, ...] = (*SURFACE, *CALLS, *APPROVALS, *ANSWERS, *INVOCATIONS, *CATALOG, *AUDIT)
