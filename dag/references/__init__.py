"""References between objects: whether they are permitted, and the content they lead to."""
