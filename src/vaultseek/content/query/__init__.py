"""Parse the text of a query into rank text and a filter, and classify the query. Pure functions."""
