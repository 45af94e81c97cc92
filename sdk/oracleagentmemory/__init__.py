"""Long-term memory for AI agents: the documented API of Oracle AI Agent Memory 26.8."""
