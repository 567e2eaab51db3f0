"""The languages of notes: detection, stop words and stems."""
