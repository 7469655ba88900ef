"""A cluster that is not there: virtual clock, step costs, links. No jax."""
