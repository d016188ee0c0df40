"""What it means: pure rules from what users write to what Envoy does and users are told."""
