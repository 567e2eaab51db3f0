"""A hub on the loopback that serves folders like the real one, and tiny models to serve from it."""

import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from vaultseek.semantic.models.directories import bundled_directory

COMMIT = "1" * 40
MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
HARMLESS = {
    "config.json": json.dumps({"model_type": "bert", "max_position_embeddings": 512}),
    "modules.json": json.dumps(MODULES),
    "sentence_bert_config.json": json.dumps({"max_seq_length": 256}),
    "model.safetensors": "weights",
    "tokenizer.json": "{}",
}
MakeModel = Callable[..., Path]


class Hub:
    """A hub that serves ``models`` (name to folder). ``asked`` has every requested path, ``sent`` the names
    of the files sent."""

    def __init__(self) -> None:
        self.models: dict[str, Path] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.sent: list[str] = []
        self.status: int | None = None
        self.break_off_after: int | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def listing(self, name: str) -> bytes:
        """Return the hub's description of a model."""
        folder = self.models[name]
        siblings = []
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            data = file.read_bytes()
            entry: dict[str, object] = {"rfilename": str(file.relative_to(folder)), "size": len(data)}
            if file.suffix == ".safetensors":
                digest = hashlib.sha256(data).hexdigest()
                entry["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 130}
            siblings.append(entry)
        return json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()

    def answer(self, target: str) -> tuple[int, bytes]:
        """Return status and body for a path."""
        path = urlsplit(target).path
        self.asked.append(path)
        if self.status is not None:
            return self.status, b"{}"
        name = path.removeprefix("/api/models/")
        if name in self.models:
            return 200, self.listing(name)
        for known, folder in self.models.items():
            start = f"/{known}/resolve/{COMMIT}/"
            if path.startswith(start) and (folder / path.removeprefix(start)).is_file():
                return 200, (folder / path.removeprefix(start)).read_bytes()
        return 404, b"{}"

    def _handler(hub) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._tell(body=True)

            def do_HEAD(self) -> None:
                self._tell(body=False)

            def log_message(self, *arguments: object) -> None: ...

            def _tell(self, *, body: bool) -> None:
                hub.headers.append(dict(self.headers))
                status, data = hub.answer(self.path)
                start = 0
                if self.headers.get("Range"):
                    start, status = int(self.headers["Range"].removeprefix("bytes=").split("-")[0]), 206
                self.send_response(status)
                if status == 404:
                    self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", str(len(data) - start))
                self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
                if status == 206:
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                self.end_headers()
                if body:
                    hub.sent.append(urlsplit(self.path).path.rpartition("/")[2])
                    weights = self.path.endswith(".safetensors")
                    self.wfile.write(data[start:][: hub.break_off_after if weights else None])

        return Handler


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub that the library accepts as the real one."""
    made = Hub()
    monkeypatch.setenv("HF_ENDPOINT", made.address)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    yield made
    made.close()


def _saved(folder: Path, model: str, library: str, **shape: int) -> Path:
    """Save an untrained model of the classes ``model`` and ``library`` in ``folder``, and return the
    folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        import sentence_transformers
        import transformers

        base = folder.with_name(f"{folder.name}-base")
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
        config = transformers.BertConfig(**sizes, **shape)
        getattr(transformers, model)(config).save_pretrained(base)
        transformers.BertTokenizerFast(str(bundled_directory() / "vocab.txt")).save_pretrained(base)
        getattr(sentence_transformers, library)(str(base), device="cpu").save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="session")
def tiny_embedding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model with vectors of 32 numbers, as sentence-transformers saves it."""
    return _saved(tmp_path_factory.mktemp("models") / "tiny", "BertModel", "SentenceTransformer")


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained cross-encoder, as sentence-transformers saves it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-reranker"
    return _saved(folder, "BertForSequenceClassification", "CrossEncoder", num_labels=1)


@pytest.fixture
def model_folder(tmp_path: Path) -> MakeModel:
    """``model_folder({"config.json": "..."})`` creates a harmless model folder with these files changed."""

    def make(files: Mapping[str, str | None] = {}, name: str = "model-folder") -> Path:
        root = tmp_path / name
        for path, content in {**HARMLESS, **files}.items():
            if content is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
        return root

    return make
