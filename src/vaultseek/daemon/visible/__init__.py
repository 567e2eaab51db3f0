"""The parts of a vault that are visible to clients other than the user's own."""
