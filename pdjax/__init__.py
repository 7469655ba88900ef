"""pdjax: prefill/decode serving studies, one scheduler and two backends.

Importing the package imports nothing else; `--help` must stay fast and the
simulator must run without JAX.
"""

__version__ = "0.1.0"
