"""Messages, their frames and their checks. Nothing here knows a vault."""
