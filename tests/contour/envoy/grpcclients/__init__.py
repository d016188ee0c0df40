"""gRPC clients without a proxy."""
