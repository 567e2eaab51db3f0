"""Secrets stay out of what a process prints, in every form that a library or a server may give them."""

import asyncio
import base64
import io
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedding_server import embedding_server
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.inference.masking import Mask, MaskedOutput
from vaultseek.semantic.models.catalogue import served_model
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.worker import SemanticWorker

KEY = "sk-SECRET/KEY+123=="


@pytest.fixture
def mask() -> Mask:
    mask = Mask()
    mask.add(KEY)
    return mask


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        quote(KEY, ""),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"me:{KEY}".encode()).decode(),
        json.dumps({"Authorization": f"Bearer {KEY}"}),
    ],
)
def test_a_key_is_masked_in_every_form(mask, text):
    masked = mask.text(f"the server said: {text}.")
    assert masked.startswith("the server said: ")
    assert "(key)" in masked
    assert KEY[3:9] not in masked
    assert base64.b64encode(KEY.encode()).decode()[4:12] not in masked


@given(
    st.lists(st.sampled_from([KEY, KEY[:7], KEY[7:], "boom ", "\n", "x" * 9_000]), max_size=8), st.booleans()
)
def test_no_cut_of_the_output_lets_a_key_through(parts, flushes):
    mask = Mask()
    mask.add(KEY)
    stream = io.StringIO()
    output = MaskedOutput(stream, mask)
    for part in [*parts, "\n"]:
        assert output.write(part) == len(part)
        if flushes:
            output.flush()
    assert KEY not in stream.getvalue()
    assert stream.getvalue() == "".join(parts).replace(KEY, "(key)") + "\n"


def test_variables_that_libraries_read_by_themselves_are_masked():
    mask = Mask()
    mask.add_variables({"OPENAI_API_KEY": "sk-of-the-library", "HOME": "/home/somebody", "MY_TOKEN": "short"})
    assert mask.text("sk-of-the-library at /home/somebody, short") == "(key) at /home/somebody, short"


def test_a_key_that_the_server_repeats_is_in_no_log_of_the_worker(tmp_path, monkeypatch):
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    log = tmp_path / "worker.log"
    with embedding_server() as server:
        server.status = 500
        options = {"model_name": "m", "api_base": server.url + "/v1", "timeout": 2.0, "max_retries": 2}
        name = "llama_index.embeddings.openai_like.OpenAILikeEmbedding"
        service = Service(name, json.dumps(options), seconds=15.0, key_file=str(key))

        async def embed() -> str:
            worker = SemanticWorker(served_model(service), log=log)
            caught = None
            async with asyncio.timeout(110.0):
                while not log.exists() or "Retrying" not in log.read_text():  # the library logs the answer
                    with pytest.raises(WorkerUnavailable) as caught:
                        await worker.embed(["a text"])
                    await asyncio.sleep(0.2)
            await worker.stop()
            return str(caught and caught.value)

        said = asyncio.run(embed())
    assert KEY in server.keys
    written = log.read_text()
    assert KEY not in written
    assert "SECRET" not in written + said
