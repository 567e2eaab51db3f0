"""The vector index: exact filters over a port that Chroma and memory implement."""
