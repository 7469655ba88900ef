"""From an event log to figures, conditions and flags; no JAX."""
