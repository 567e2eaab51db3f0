"""Search by meaning: choice of models, inference, vectors, and the worker process."""
