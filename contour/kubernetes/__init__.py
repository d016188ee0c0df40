"""The Kubernetes provider: what an API server holds becomes events for the graph."""
