"""Finished results read back: runs, a choice of them, tables."""
