"""What each field does to requests, as data: rows, each with the proof that it needs its fields."""
