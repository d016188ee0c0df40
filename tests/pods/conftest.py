"""The fixtures of these tests."""

from tests.pods.fixtures import installed, pods, space

__all__ = ["installed", "pods", "space"]
