"""LlamaIndex: the chunker as a node parser, the daemon as a retriever, and the examples in the docs."""

import re
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.parse import parse
from vaultseek.errors import Unavailable, UsageError

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "llamaindex.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
TEA = "---\ntags: [drinks]\n---\n# Tea\n\n" + "Green tea. " * 60 + "\n\n## Coffee\n\n" + "Ground fine. " * 60


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def llama() -> SimpleNamespace:
    """The classes under test, imported only for tests that run: importing LlamaIndex takes two seconds."""
    with warnings.catch_warnings():
        # LlamaIndex and the packages it imports emit deprecation warnings while they are imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        from llama_index.core import Document
        from llama_index.core.schema import NodeRelationship

        from vaultseek.llama import VaultNodeParser, VaultRetriever
    return SimpleNamespace(
        Document=Document, Relationship=NodeRelationship, Parser=VaultNodeParser, Retriever=VaultRetriever
    )


@pytest.fixture
def notes(daemon, tmp_path) -> Path:
    """The sample vault, indexed by a daemon."""
    root = Path(shutil.copytree(PROJECT / "tests" / "data" / "vault", tmp_path / "notes"))
    assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    return root


def test_a_document_without_a_file_is_called_by_its_first_heading(llama):
    (node,) = llama.Parser(count=words, window=100).get_nodes_from_documents(
        [llama.Document(text="## *Tea*\n\nHot.")]
    )
    assert node.metadata["title"] == "Tea"
    named = llama.Document(text="## *Tea*\n\nHot.", metadata={"file_name": "Drinks.md"})
    (node,) = llama.Parser(count=words, window=100).get_nodes_from_documents([named])
    assert node.metadata["title"] == "Drinks"


def test_nodes_are_the_passages_of_the_daemon(llama):
    document = llama.Document(text=TEA, metadata={"path": "Drinks.md", "source": "mine"})
    nodes = llama.Parser(count=words, window=100).get_nodes_from_documents([document])
    expected = chunk(parse(TEA, "Drinks.md"), words, 100)
    assert [(node.node_id, node.text) for node in nodes] == [(found.id, found.text) for found in expected]
    assert {node.metadata["heading"] for node in nodes} == {"Tea", "Tea > Coffee"}
    first = nodes[0]
    assert (first.metadata["title"], first.metadata["tags"], first.metadata["source"]) == (
        "Tea",
        "drinks",
        "mine",
    )
    assert TEA[first.start_char_idx : first.end_char_idx] == first.text
    assert first.relationships[llama.Relationship.SOURCE].node_id == document.node_id
    assert first.relationships[llama.Relationship.NEXT].node_id == nodes[1].node_id
    assert "start_line" not in first.get_content(metadata_mode="llm")


def test_documents_without_a_path_have_passages_of_their_own(llama):
    twins = [llama.Document(text=TEA), llama.Document(text=TEA), llama.Document(text="")]
    nodes = llama.Parser(count=words, window=100).get_nodes_from_documents(twins)
    assert len({node.node_id for node in nodes}) == len(nodes) > 2


def test_the_bundled_model_counts_unless_told_otherwise(llama):
    (node,) = llama.Parser().get_nodes_from_documents([llama.Document(text="# Tea\n\nGreen.")])
    assert node.text == "Tea\n\nGreen."


@pytest.mark.shared_daemon
async def test_the_retriever_gives_whole_passages_and_says_what_did_not_take_part(llama, notes):
    retriever = llama.Retriever(notes, limit=3, mode="keyword", filters={"tag": "work/pumps"})
    found = retriever.retrieve("float switch")
    assert 0 < len(found) <= 3
    best = found[0]
    assert best.score == 1.0
    assert best.metadata["path"] == "Projects/Sump/Float Switch Wiring.md"
    lines = (notes / best.metadata["path"]).read_text(encoding="utf-8").split("\n")
    assert best.text == "\n".join(lines[best.metadata["start_line"] - 1 : best.metadata["end_line"]])
    assert (best.metadata["untrusted"], best.metadata["partial"]) == (True, "")
    assert "untrusted" not in best.node.get_content(metadata_mode="llm")
    again = await retriever.aretrieve("float switch")
    assert [(node.node_id, node.text) for node in again] == [(node.node_id, node.text) for node in found]


@pytest.mark.shared_daemon
async def test_errors_of_the_daemon_come_through(llama, notes):
    with pytest.raises(UsageError, match="colour"):
        llama.Retriever(notes, filters={"colour": "red"}).retrieve("pump")
    with pytest.raises(UsageError, match="colour"):
        await llama.Retriever(notes, filters={"colour": "red"}).aretrieve("pump")


async def test_without_a_daemon_the_retriever_says_how_to_start_one(llama, tmp_path):
    with pytest.raises(Unavailable, match="no daemon is running; start one"):
        llama.Retriever(tmp_path).retrieve("pump")
    with pytest.raises(Unavailable, match="no daemon is running; start one"):
        await llama.Retriever(tmp_path).aretrieve("pump")


@pytest.mark.shared_daemon
def test_the_examples_of_the_page_run(llama, notes, capsys):
    engine, prompt, parser = EXAMPLES
    of_engine: dict[str, Any] = {}
    exec(engine.replace("/home/ana/notes", str(notes)), of_engine)
    printed = capsys.readouterr().out
    assert "What happens when all floats of the pit are up?" in printed
    assert re.search(r"^1\.0 .*\.md \d+$", printed, re.MULTILINE)
    exec(prompt, of_engine)
    sent = capsys.readouterr().out  # the model of the example repeats its prompt
    before, _, after = sent.partition("<notes>\n")
    assert "untrusted" in before
    assert "float" in after.partition("\n</notes>\n")[0]
    exec(parser, {})
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()] == [
        ["Tea", "1"],
        ["Coffee", "5"],
    ]
