"""Serving it: providers in, xDS, statuses and infrastructure out."""
