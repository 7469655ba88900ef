"""Chunks of prompts over their pages."""
