"""The real backend: one worker a mesh, on the wall clock."""
