"""Experiments: cells, where they run, and where results stay."""
