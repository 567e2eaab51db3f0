"""The vector index: exact filters over a port that Chroma and a store in memory implement."""
