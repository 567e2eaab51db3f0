"""Languages of notes: language detection, stop words and stems."""
