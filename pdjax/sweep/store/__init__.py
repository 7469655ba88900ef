"""The folder of an experiment's results.

    <experiment>/
      experiment.json  summary.json  summary.csv  report.html
      runs/<slug>-<id>/      one finished cell
      failed/<slug>-<id>/    config.json, status.json with the message, log.txt

A run is written to a temporary folder in `runs/` and renamed, so it is there
whole or not at all, and never added to. Files over all runs are a function of
`runs/`. Whatever takes a place or goes over all runs is done under a lock; so
several processes may work on one experiment.
"""

from pdjax.sweep.store.folder import Store
from pdjax.sweep.store.found import Failure, Found
from pdjax.sweep.store.lock import REPORT_LOCK
from pdjax.sweep.store.runs import cells_of, runs_of

__all__ = ["REPORT_LOCK", "Failure", "Found", "Store", "cells_of", "runs_of"]
