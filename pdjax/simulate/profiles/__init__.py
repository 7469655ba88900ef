"""Published step-time profiles as cost models; each states where it ends."""
