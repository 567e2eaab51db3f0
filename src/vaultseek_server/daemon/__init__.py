"""Parts of a daemon that writes indexes to an engine, or searches indexes in an engine."""
