"""The embedded rate limit service, and the real one beside it."""
