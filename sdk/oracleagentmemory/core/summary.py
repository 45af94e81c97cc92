"""Summaries of threads."""

from __future__ import annotations

from oracleagentmemory.apis.summary import Summary


class OracleSummary(Summary):
    """A summary of a thread; ``str()`` gives its text."""

    def __init__(self, content: str) -> None:
        self._content = str(content)

    @property
    def content(self) -> str:
        """The text of the summary."""
        return self._content

    @property
    def formatted_content(self) -> str:
        """The text of the summary for a prompt."""
        return self._content

    def __str__(self) -> str:
        return self._content

    def __repr__(self) -> str:
        return f"OracleSummary({self._content!r})"
