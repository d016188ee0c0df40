"""The rules of the Gateway API: which objects we serve, what they ask for, and their statuses."""
