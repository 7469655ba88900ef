"""Configs to start from; `--list_configs` shows their questions."""
