"""A scripted model server: try and test code that talks to models, without keys or a network."""

from __future__ import annotations

from oracleagentmemory.testing.modelscript import ScriptedAnswer, parse_script
from oracleagentmemory.testing.modelserver import ReceivedRequest, ScriptedModelServer

__all__ = ["ReceivedRequest", "ScriptedAnswer", "ScriptedModelServer", "parse_script"]
