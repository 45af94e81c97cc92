"""Over-long messages in prompts: a model writes a shorter copy; what is stored stays."""

from __future__ import annotations

import logging

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.budgets import CHARACTERS_PER_TOKEN, estimate_tokens
from oracleagentmemory.core.llms.answers import plain_text
from oracleagentmemory.core.summaries.prompt import shortening_prompt
from oracleagentmemory.core.threadsettings import ThreadSettings

logger = logging.getLogger(__name__)


class Shortening:
    """Makes the copies of messages that go into prompts.

    ``max_message_token_length`` of the settings says from where on a copy is shortened and
    ``message_shortening_input_token_limit`` how much of it the model sees.
    """

    def __init__(self, llm: ILlm, settings: ThreadSettings) -> None:
        self._llm = llm
        self._most = settings.max_message_token_length
        self._input = settings.message_shortening_input_token_limit

    def copy(self, text: str) -> str:
        """Return a text as it goes into a prompt; cut where the model does not shorten it."""
        if self._most <= 0 or estimate_tokens(text) <= self._most:
            return text
        short = self._shortened(text)
        return (short or text)[: int(self._most * CHARACTERS_PER_TOKEN)]

    def _shortened(self, text: str) -> str:
        try:
            answer = self._llm.generate(shortening_prompt(text, self._input))
        except Exception as failure:  # noqa: BLE001 - a cut copy is better than no prompt
            logger.warning("a model failed to shorten a message: %s", type(failure).__name__)
            return ""
        return plain_text(answer.text).strip()
