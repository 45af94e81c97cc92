"""Language models."""

from __future__ import annotations

from oracleagentmemory.core.llms.llm import Llm, LlmApiType

__all__ = ["Llm", "LlmApiType"]
