"""Protocol messages, their framing and their validation, independent of any vault."""
