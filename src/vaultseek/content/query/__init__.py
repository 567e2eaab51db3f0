"""The text of a query: parsing it into rank text and a filter, and classifying it. Pure functions."""
