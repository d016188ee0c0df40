"""What a user may write: a frozen pydantic model of every kind that the project reads."""
