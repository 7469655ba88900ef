"""A run along its clock: what ran where, what moved, what waited; no JAX."""
