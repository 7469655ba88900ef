"""Workloads: requests, their arrivals, lengths and prompts. Never JAX."""
