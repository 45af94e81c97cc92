"""The parts of the client, one a noun."""
