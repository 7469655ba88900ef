"""The scheduler: one loop, one world, small policies; no JAX, no clock."""
