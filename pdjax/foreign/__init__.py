"""Results in other tools' formats: their names once, readers and writers."""
