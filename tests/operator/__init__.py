"""The operator as a process, with the rights that are shipped, at a real API server."""
