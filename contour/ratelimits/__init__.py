"""Rate limit services: what they are told over xDS (`messages`)."""
