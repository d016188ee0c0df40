"""Warnings for objects of any kind, in addition to what the rules of the kind find."""
