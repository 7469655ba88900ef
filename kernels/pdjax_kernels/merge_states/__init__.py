"""Puts the parts of an attention together."""
