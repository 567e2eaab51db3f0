"""The network of a BERT encoder in float32, computed with onnxruntime."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.inference.bert_graph import Matrix, Tensors, encoder_graph
from vaultseek.semantic.models.metadata import BertShape

_ERRORS_ONLY = 3


class OnnxNetwork:
    """A session with the graph of an encoder. Its threads wait actively only while it computes.

    Raises KeyError or ValueError if shape and weights do not fit. With one thread it computes in the thread
    of the caller. Several callers may use it at the same time.
    """

    def __init__(self, shape: BertShape, weights: Tensors, threads: int) -> None:
        # Its import alone would write an identifier of the device and a queue of events to the user's cache.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        graph = encoder_graph(shape, weights)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.force_spinning_stop", "1")
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.constants.values()]
        options.add_external_initializers(list(graph.constants), values)
        self._session: Any = onnxruntime.InferenceSession(
            graph.to_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, embeddings: Matrix, lengths: NDArray[np.int32], shares: Matrix) -> Matrix:
        """Return the pooled vectors, ``(texts, width)``; see `encoder_graph` for the arguments."""
        pooled: Matrix = self._session.run(
            None, {"embeddings": embeddings, "lengths": lengths, "shares": shares}
        )[0]
        return pooled[:, 0]
