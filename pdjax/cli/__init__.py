"""The commands; the only part that may import everything."""
