"""Settings: their models, where they are read from, how they are described, changed and followed on disk."""
