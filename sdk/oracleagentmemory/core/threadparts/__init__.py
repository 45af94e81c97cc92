"""The parts of the thread handle, one a noun."""
