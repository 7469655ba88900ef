"""Programs of an experiment compiled ahead of time for devices not owned.

Nothing is executed: a compiler's word on what fits, not a measurement.
"""
