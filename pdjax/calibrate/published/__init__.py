"""Measurements that others published, read beside the simulator's prices."""
