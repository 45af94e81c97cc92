"""The app's own tables. Memory data lives in the SDK's tables, never here."""

from __future__ import annotations

from memoryapp.models.audit import AuditEntry
from memoryapp.models.jobs import UNFINISHED, Job, JobNote, JobState, TokenUse, WorkerBeat
from memoryapp.models.keys import Key
from memoryapp.models.people import Person
from memoryapp.models.revisions import Revision

__all__ = [
    "UNFINISHED",
    "AuditEntry",
    "Job",
    "JobNote",
    "JobState",
    "Key",
    "Person",
    "Revision",
    "TokenUse",
    "WorkerBeat",
]
