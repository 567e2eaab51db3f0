"""The languages of notes: their stop words and stems, and how to tell them apart."""
