"""What is asked of an instance: why a request is answered so, what is wrong, what would differ.

And the socket by which commands ask it.
"""
