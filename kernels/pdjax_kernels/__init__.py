"""Hardware kernels, a folder each; imports JAX and nothing of pdjax."""
