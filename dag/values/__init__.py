"""Values that users write: what is valid, and what it means to Envoy."""
