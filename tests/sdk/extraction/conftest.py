"""Models are asked as in the tests of models: without a provider or a loop left over."""

from __future__ import annotations

from tests.sdk.models.conftest import no_provider_in_the_environment

__all__ = ["no_provider_in_the_environment"]
