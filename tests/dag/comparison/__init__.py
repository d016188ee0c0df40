"""What would be answered differently."""
