"""Models are asked as in the tests of models: without a provider or a loop left over."""

from __future__ import annotations

from tests.sdk.models.conftest import event_loop_that_is_closed, no_provider_in_the_environment

__all__ = ["event_loop_that_is_closed", "no_provider_in_the_environment"]
