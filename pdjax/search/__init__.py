"""Searches: the highest rate within an SLO, by probes that others run."""
