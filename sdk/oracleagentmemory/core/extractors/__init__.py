"""Memory extraction and its settings."""
