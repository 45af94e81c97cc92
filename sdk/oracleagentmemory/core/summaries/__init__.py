"""Summaries of threads: by a model, or from the messages themselves."""

from oracleagentmemory.core.summaries.threadsummaries import SummaryText, ThreadSummaries

__all__ = ["SummaryText", "ThreadSummaries"]
