"""What it means: pure rules from what users write to what Envoy should do and what users are told."""
