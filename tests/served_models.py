"""Classes of LlamaIndex that ask `embedding_server`, as a user's own would."""

import json
import urllib.error
import urllib.request
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor.types import BaseNodePostprocessor


def ask(base_url: str, key: str, path: str, body: Any) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(base_url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        error.close()
        raise


class OverHttp(BaseEmbedding):
    base_url: str
    api_key: str = ""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        answer = ask(self.base_url, self.api_key, "/embed", {"input": texts})
        return [each["embedding"] for each in answer["data"]]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class RerankedOverHttp(BaseNodePostprocessor):
    base_url: str
    top_n: int = 2

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        body = {"query": query_bundle.query_str, "texts": [each.get_content() for each in nodes]}
        for each in (answer := ask(self.base_url, "", "/rerank", body)):
            nodes[each["index"]].score = each["score"]
        return [nodes[each["index"]] for each in answer[: self.top_n]]
