"""The SDK beside the release that it follows: `docs/contract.md` says what is compared and how."""
