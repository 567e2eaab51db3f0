"""Understanding a query and ordering its answers. Pure functions over values."""
