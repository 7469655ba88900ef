"""Copies pages out of the cache and back."""
