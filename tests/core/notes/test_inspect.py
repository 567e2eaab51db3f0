import json
import os
from pathlib import Path
from typing import Any

import pytest

from vaultseek.core.notes.inspect import Inspector
from vaultseek.errors import NotFound
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.tokens import TokenCounter

CONTRACT = {
    "path",
    "title",
    "file_name",
    "frontmatter",
    "tags",
    "aliases",
    "links",
    "headings",
    "code_blocks",
    "blocks",
    "chunks",
    "problems",
}


def vault(root: Path, files: dict[str, str | bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def inspected(root: Path, files: dict[str, str | bytes], path: str) -> dict[str, Any]:
    vault(root, files)
    found = Inspector(root).inspect_file(root / path)
    json.dumps(found)
    return found


def resolved(found: dict[str, Any]) -> list[str | None]:
    return [link["resolved"] for link in found["links"]]


def test_the_object_holds_what_the_contract_promises(tmp_path: Path) -> None:
    text = (
        "---\naliases: [Hull]\ntags: [boat]\nrating: 4\n---\n# Keel\n\nSee [[Log#Day 1|the log]]. "
        "#todo ^k1\n\n"
        "- [/] half\n\n> [!tip] Hint\n\n```sh\nmake\n```\n"
    )
    found = inspected(tmp_path, {"parts/Keel.md": text, "Log.md": ""}, "parts/Keel.md")
    assert set(found) >= CONTRACT
    assert found["path"] == "parts/Keel.md"
    assert found["title"] == "Keel"
    assert found["frontmatter"] == {"aliases": ["Hull"], "tags": ["boat"], "rating": 4}
    assert found["tags"] == ["boat", "todo"]
    assert found["aliases"] == ["Hull"]
    assert found["links"] == [
        {
            "kind": "wikilink",
            "target": "Log",
            "heading": "Day 1",
            "block": None,
            "alias": "the log",
            "line": 8,
            "property": None,
            "resolved": "Log.md",
            "ambiguous": [],
            "by_alias": False,
        }
    ]
    assert found["headings"] == [{"level": 1, "text": "Keel", "line": 6}]
    assert found["code_blocks"] == [{"lang": "sh", "line": 14, "end_line": 16}]
    assert found["blocks"] == [{"id": "k1", "line": 8}]
    assert found["tasks"] == [{"mark": "/", "done": True, "text": "half", "line": 10}]
    assert found["callouts"] == [{"kind": "tip", "title": "Hint", "line": 12}]
    assert [(part["heading_path"], part["start_line"], part["end_line"]) for part in found["chunks"]] == [
        (["Keel"], 6, 16)
    ]
    assert set(found["chunks"][0]) == {"id", "heading_path", "start_line", "end_line", "text", "place"}
    assert found["problems"] == []


def test_links_lead_to_notes_attachments_and_themselves(tmp_path: Path) -> None:
    text = "[[B]] ![[gull.png]] [c](sub/C.md) [[#Here]] [[A]] [[Missing]] [[|x]]"
    files: dict[str, str | bytes] = {"A.md": text, "x/B.md": "", "media/Gull.PNG": b"\x89PNG", "sub/C.md": ""}
    found = inspected(tmp_path, files, "A.md")
    assert resolved(found) == ["x/B.md", "media/Gull.PNG", "sub/C.md", "A.md", "A.md", None]


def test_the_other_files_of_a_name_are_said(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"A.md": "[[Log]]", "b/Log.md": "", "aa/Log.md": ""}, "A.md")
    assert (resolved(found), found["links"][0]["ambiguous"]) == (["b/Log.md"], ["aa/Log.md"])


def test_aliases_of_other_notes_are_the_last_resort(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "A.md": "[[AR]] [[ar2]] [[BR]] [[x/AR]]",
        "Reef.md": "---\naliases: [AR]\n---\n",
        "Other.md": "\ufeff---\r\nalias: AR2\r\n---\r\ntext",
        "Late.md": "text\n\n---\naliases: BR\n---\n",
        "BR2.md": b"---\nalias: \xff\n",
    }
    found = inspected(tmp_path, files, "A.md")
    assert resolved(found) == ["Reef.md", "Other.md", None, None]
    assert found["links"][0]["by_alias"]


def test_aliases_are_not_read_if_every_name_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = vault(tmp_path, {"A.md": "[[B]]", "B.md": "---\naliases: [C]\n---\n"})
    monkeypatch.setattr("vaultseek.core.notes.inspect._aliases", lambda root, path: pytest.fail("read"))
    assert resolved(Inspector(root).inspect_file(root / "A.md")) == ["B.md"]


def test_the_vault_is_listed_once_for_many_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = vault(tmp_path, {f"n{n}.md": f"[[n{n + 1}]]" for n in range(5)})
    inspector = Inspector(root)
    assert resolved(inspector.inspect_file(root / "n0.md")) == ["n1.md"]
    monkeypatch.setattr("vaultseek.core.notes.inspect.scan", lambda *given: pytest.fail("listed again"))
    assert resolved(inspector.inspect_file(root / "n3.md")) == ["n4.md"]


def test_hidden_and_foreign_folders_are_not_part_of_the_vault(tmp_path: Path) -> None:
    hidden = [".obsidian/h.md", ".trash/h.md", ".git/h.md", "node_modules/h.md", "a/.h.md"]
    found = inspected(tmp_path, {"A.md": "[[h]] [[.obsidian/h]]", **dict.fromkeys(hidden, "")}, "A.md")
    assert resolved(found) == [None, None]


def test_a_note_from_standard_input_has_a_place_in_the_vault(tmp_path: Path) -> None:
    root = vault(tmp_path, {"a/Log.md": "", "b/Log.md": ""})
    inspector = Inspector(root)
    found = inspector.inspect_text(b"# New\n[[Log]] [[draft]] [[D]]\n", "b/draft.md")
    assert (found["path"], found["title"]) == ("b/draft.md", "New")
    assert resolved(found) == ["b/Log.md", "b/draft.md", None]
    assert resolved(inspector.inspect_text(b"[[draft]]", "c.md")) == [None]


def test_without_a_vault_a_note_knows_only_itself() -> None:
    found = Inspector(None).inspect_text(b"---\naliases: me\n---\n[[Log]] [[stdin]] [[me]]", "stdin.md")
    assert resolved(found) == [None, "stdin.md", "stdin.md"]


def test_a_file_outside_of_the_vault_goes_by_its_name(tmp_path: Path) -> None:
    root = vault(tmp_path / "vault", {"B.md": ""})
    vault(tmp_path, {"A.md": "[[B]]"})
    found = Inspector(root).inspect_file(tmp_path / "A.md")
    assert (found["path"], resolved(found)) == ("A.md", ["B.md"])


@pytest.mark.fault("E9")
def test_a_vault_reached_through_a_link_is_the_same_vault(tmp_path: Path) -> None:
    root = vault(tmp_path / "vault", {"x/A.md": "[[B]]", "B.md": ""})
    (tmp_path / "link").symlink_to(root)
    found = Inspector(root).inspect_file(tmp_path / "link" / "x" / "A.md")
    assert (found["path"], resolved(found)) == ("x/A.md", ["B.md"])


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (bytes(range(256)) * 40, "binary"),
        (b"caf\xe9 [[B]]", "bad_encoding"),
        (b"---\na: [\n---\n", "bad_frontmatter"),
        (b"x\n" * (5 * 1024 * 1024), "too_large"),
    ],
)
def test_a_bad_note_is_an_object_with_its_problem(tmp_path: Path, content: bytes, code: str) -> None:
    for found in (
        inspected(tmp_path, {"A.md": content}, "A.md"),
        Inspector(None).inspect_text(content, "A.md"),
    ):
        assert code in [problem["code"] for problem in found["problems"]]
        assert (found["path"], found["title"]) == ("A.md", "A")
        assert set(found) >= CONTRACT


def test_a_pipe_and_a_link_are_problems_and_do_not_block(tmp_path: Path) -> None:
    root = vault(tmp_path, {"A.md": "text"})
    os.mkfifo(root / "pipe.md")
    (root / "link.md").symlink_to(root / "A.md")
    for name in ("pipe.md", "link.md"):
        found = Inspector(root).inspect_file(root / name)
        assert [problem["code"] for problem in found["problems"]] == ["not_a_file"]
        assert found["chunks"] == []


def test_a_missing_note_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"gone\.md: no such file"):
        Inspector(tmp_path).inspect_file(tmp_path / "gone.md")


def test_a_name_that_is_not_utf8_is_shown_legibly(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.md")
    path.write_text("# T\n", encoding="utf-8")
    found = Inspector(tmp_path).inspect_file(path)
    assert found["path"] == "caf\\xe9.md"
    json.dumps(found).encode()


def test_chunks_fit_the_bundled_model_unless_told_otherwise(tmp_path: Path) -> None:
    root = vault(tmp_path, {"A.md": "# T\n\n" + "A sentence with eight words in it. " * 200})
    count = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")
    chunks = Inspector(root).inspect_file(root / "A.md")["chunks"]
    assert len(chunks) > 5
    assert all(count(f"T T {part['text']}") <= 254 for part in chunks)
    assert len(Inspector(root, len, 1000).inspect_file(root / "A.md")["chunks"]) > len(chunks)


def test_tables_and_footnotes_are_found(vault):
    text = "# a\n\n| a |\n|---|\n| 1 |\n\nx[^n]\n\n[^n]: foot\n\n```\n[^no]: code\n```\n"
    found = Inspector(vault({})).inspect_text(text.encode(), "a.md")
    assert found["tables"] == [{"line": 3, "end_line": 5}]
    assert found["footnotes"] == [{"id": "n", "line": 9}]
