"""How well steps use their chips: operations, bytes, MFU, MBU, compute-busy."""
