"""Whether two results may be divided, and the ratio where they may."""
