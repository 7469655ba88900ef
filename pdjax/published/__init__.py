"""What publications claim, one JSON file each, with its conditions."""
