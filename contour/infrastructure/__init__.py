"""The objects for an instance's Envoys, which the leader creates, keeps and removes."""
