"""Messages, their frames and their checks, independent of any vault."""
