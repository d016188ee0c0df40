"""The Helm charts, with the real Helm."""
