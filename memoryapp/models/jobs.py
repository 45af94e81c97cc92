"""Jobs: the queue of background work, its notes, what it costs, and who works on it."""

from __future__ import annotations

from enum import StrEnum

from django.db import models


class JobState(StrEnum):
    """Where a job stands; the last four are ends."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: A job in one of these states is still to come to an end.
UNFINISHED = (JobState.QUEUED, JobState.RUNNING)


class Job(models.Model):
    """One extraction or image description, stored in the transaction of its messages.

    The rows are the queue. ``attempts`` counts how often the job was claimed, ever; together with
    ``claimed_by`` it tells one run from another; ``put_back`` of them ended in good order, to be
    tried again. A cancelled job whose ``claimed_by`` is set has a run that has not noticed yet; it
    can write nothing more. ``wait_reason`` says which limit of tokens a queued job waits for.
    """

    STATES = tuple((state, state.value.capitalize()) for state in JobState)
    KINDS = (("messages", "New messages"), ("edit", "Edited message"), ("image", "Image"))

    job_id = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=16, choices=KINDS)
    state = models.CharField(max_length=16, choices=STATES, default=JobState.QUEUED)
    thread_id = models.CharField(max_length=128, blank=True, default="")
    user_id = models.CharField(max_length=128, blank=True, default="")
    agent_id = models.CharField(max_length=128, blank=True, default="")
    queue_key = models.CharField(max_length=160)
    reason = models.CharField(max_length=100, blank=True, default="")
    requested_by = models.CharField(max_length=200, blank=True, default="")
    accepted_by = models.CharField(max_length=64, blank=True, default="")
    retry_of = models.CharField(max_length=64, blank=True, default="")
    payload = models.JSONField()
    result = models.JSONField(null=True)
    error = models.TextField(blank=True, default="")
    attempts = models.PositiveIntegerField(default=0)
    put_back = models.PositiveIntegerField(default=0)
    claimed_by = models.CharField(max_length=200, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    wait_reason = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    model = models.CharField(max_length=200, blank=True, default="")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    # Null once any answer's price was unknown: a sum of the others would look like the whole.
    cost = models.DecimalField(max_digits=18, decimal_places=9, null=True, default=0)

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("state", "id"), name="job_state"),
            # Counts of what waits for a limit read no rows.
            models.Index(fields=("state", "wait_reason"), name="job_wait"),
            models.Index(fields=("queue_key", "state", "id"), name="job_queue"),
            models.Index(fields=("user_id", "id"), name="job_user"),
            models.Index(fields=("thread_id", "id"), name="job_thread"),
        )

    def __str__(self) -> str:
        return f"{self.job_id} ({self.kind}, {self.state})"

    @property
    def tokens(self) -> int:
        """Tokens that its answers used so far, those of runs that came to nothing too."""
        return self.input_tokens + self.output_tokens

    @property
    def is_finished(self) -> bool:
        """Whether it has come to an end."""
        return self.state not in UNFINISHED


class JobNote(models.Model):
    """What a run noted, so that the next one of the same job has no second effect."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="notes")
    key = models.CharField(max_length=200)
    value = models.JSONField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("job", "key"), name="job_note"),)

    def __str__(self) -> str:
        return f"{self.key} of job {self.job_id}"


class TokenUse(models.Model):
    """Tokens that one user's jobs used on one day (UTC) with one model."""

    day = models.DateField()
    user_id = models.CharField(max_length=128, blank=True, default="")
    model = models.CharField(max_length=200)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=9, null=True, default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("day", "user_id", "model"), name="token_use"),
        )

    def __str__(self) -> str:
        return f"{self.user_id} on {self.day} with {self.model}"


class WorkerBeat(models.Model):
    """The heartbeat of one worker process: it lives as long as ``at`` is recent."""

    name = models.CharField(max_length=160, unique=True)
    started_at = models.DateTimeField()
    at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("-at",)

    def __str__(self) -> str:
        return self.name
