"""Appends tokens to pages."""
