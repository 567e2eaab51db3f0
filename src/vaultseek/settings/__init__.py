"""Settings: models, reading, description, changes, and following them on disk."""
