"""One query a sequence over its pages."""
