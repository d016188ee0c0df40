"""The kinds of the Gateway API, bundle v1.6.1, with the fields of the experimental channel."""
