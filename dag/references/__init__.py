"""What objects refer to: whether they may, and what is read from it."""
