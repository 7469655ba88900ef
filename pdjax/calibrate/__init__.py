"""What measured logs tell about costs: observed steps, fits, errors."""
