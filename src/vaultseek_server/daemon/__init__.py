"""The parts of a daemon that indexes into an engine, or searches there."""
