"""Settings: models, reading, descriptions, and detection of changes on disk."""
