"""Answers questions about an instance: why a request is answered so, what is wrong, what would
differ.

It includes the socket by which commands ask an instance.
"""
