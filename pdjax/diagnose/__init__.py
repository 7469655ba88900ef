"""Where the time of a run goes, why that is thought, and what to change."""
