"""Inference with models; imported only by the worker and its child processes."""
