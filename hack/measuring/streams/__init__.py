"""Many xDS streams at once: a server of one resource, and clients, each in a process of its own."""
