"""Parts of a daemon that writes an index to an engine, or searches one there."""
