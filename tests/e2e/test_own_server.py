"""A vault embedded by the user's own server, which goes down and comes back."""

from pathlib import Path

from daemons import eventually
from embedding_server import embedding_server

NOTES = {"Pump.md": "The float switch of the sump pump.", "Soup.md": "Tomatoes and basil."}
KEY = "sk-never-to-be-seen"


def test_a_server_embeds_and_its_absence_makes_vectors_late_and_nothing_else(daemon, vault, tmp_path):
    root = vault(NOTES)
    key = tmp_path / "server.key"
    key.write_text(KEY)
    key.chmod(0o600)
    with embedding_server() as server:
        port = server.port
        daemon.environment |= {
            "VAULTSEEK_MODEL__URL": f"{server.url}/v1",
            "VAULTSEEK_MODEL__NAME": "tiny",
            "VAULTSEEK_MODEL__KEY_FILE": str(key),
            "VAULTSEEK_RERANKER__URL": server.url,
        }
        assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
        answer = daemon.json("search", "switch of a pump", "--mode", "semantic", "--vault", str(root))
        assert answer["results"][0]["path"] == "Pump.md"
        assert not answer["partial"]
        assert server.keys >= {KEY}

        keys = {"RERANK_ENABLED": "true", "RERANK_MODEL": "server", "RERANK_SECONDS": "20"}
        reranked = {f"VAULTSEEK_SEARCH__{key}": value for key, value in keys.items()}
        answer = daemon.json("search", "basil pump tomatoes", "--vault", str(root), env=reranked)
        assert answer["results"][0]["path"] == "Soup.md"
        assert not answer["partial"]

        status = daemon.run("status").stdout.replace("\n", " ")
        assert f"is sent to {server.url}/v1 (on this machine)" in status
        doctor = daemon.run("doctor").stdout.replace("\n", " ")
        assert "the text of notes and questions is sent to" in " ".join(doctor.split())

    (root / "Late.md").write_text("A hydraulic ram lifts water.")
    daemon.run("index", "--vault", str(root))
    answer = daemon.json("search", "hydraulic", "--vault", str(root))
    assert answer["results"][0]["path"] == "Late.md"
    assert "semantic" in [part["lane"] for part in answer["partial"]]
    assert daemon.json("related", "Pump", "--vault", str(root))

    with embedding_server(port):
        eventually(lambda: not daemon.json("status")["vaults"][0]["pending"], "the late note is embedded")
        eventually(
            # For a while after the server has not answered, queries fail immediately.
            lambda: (
                '"path":"Late.md"'
                in daemon.run(
                    "search", "hydraulic ram", "-n", "1", "--mode", "semantic", "--json", "--vault", str(root)
                ).stdout.replace(" ", "")
            )
        )
    assert not daemon.json("status")["vaults"][0]["problems"]
    state = Path(daemon.environment["XDG_STATE_HOME"]) / "vaultseek"
    assert KEY not in "".join(file.read_text(errors="replace") for file in state.rglob("*") if file.is_file())


def test_an_address_that_is_wrong_leaves_the_search_by_word(daemon, vault):
    root = vault(NOTES)
    daemon.environment["VAULTSEEK_MODEL__URL"] = "ftp://localhost/v1"
    daemon.run("index", "--vault", str(root))
    answer = eventually(lambda: daemon.json("search", "float switch", "--vault", str(root)))
    assert answer["results"][0]["path"] == "Pump.md"
    said = eventually(lambda: daemon.json("status")["daemon"]["worker"]["reason"] or "")
    assert eventually(lambda: "expected the address before /embeddings" in str(daemon.json("status"))), said
