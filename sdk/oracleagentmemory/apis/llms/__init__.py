"""Contracts of language models."""

from __future__ import annotations

from oracleagentmemory.apis.llms.llm import ILlm, LlmResponse, LlmUsage

__all__ = ["ILlm", "LlmResponse", "LlmUsage"]
