"""Search by meaning: which model, its inference, its vectors, and the process that holds them."""
