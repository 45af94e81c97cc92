"""``/api/v1/threads/{thread_id}/summary`` and ``…/context-card``."""

from __future__ import annotations

from ninja import Query, Router, Status

from memoryapp.api.answers import ContextCardOut, SummaryOut, card_out, summary_out
from memoryapp.api.requests import ApiRequest
from memoryapp.api.schemas import Body, CardParameters, SummaryParameters
from memoryapp.services import summaries

router = Router(tags=["threads"])
_SUMMARY = "/{id:thread_id}/summary"


@router.get(_SUMMARY, response=SummaryOut, operation_id="get_summary")
def get_summary(request: ApiRequest, thread_id: str, query: Query[SummaryParameters]) -> SummaryOut:
    """Return a thread's summary as it stands; asks no model and saves nothing."""
    summary = summaries.get(
        request.auth, thread_id, except_last=query.except_last, token_budget=query.token_budget
    )
    return summary_out(summary)


@router.post(_SUMMARY, response={201: SummaryOut}, operation_id="refresh_summary")
def refresh_summary(request: ApiRequest, thread_id: str, body: Body) -> Status[SummaryOut]:
    """Make a thread's summary anew and save it."""
    return Status(201, summary_out(summaries.refresh(request.auth, thread_id, reason=body.reason)))


@router.get(
    "/{id:thread_id}/context-card", response=ContextCardOut, operation_id="get_context_card"
)
def get_context_card(
    request: ApiRequest, thread_id: str, query: Query[CardParameters]
) -> ContextCardOut:
    """Return what a prompt should know about a thread, as text; saves nothing."""
    wanted = {name: getattr(query, name) for name in query.model_fields_set}
    return card_out(summaries.context_card(request.auth, thread_id, **wanted))
