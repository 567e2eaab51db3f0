"""A walk through a vault: the returned and the skipped files."""

import json
import os
import socket
import time
import unicodedata
from pathlib import Path

import pytest

from vaultseek.base import matching
from vaultseek.content.files import ignore
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.scan import scan


def listed(root: Path, exclude: tuple[str, ...] = ()) -> list[str]:
    return sorted(
        f"{file.path}!{file.problem.code}" if file.problem else file.path
        for file in scan(root, Ignore(root, exclude))
    )


def test_notes_and_attachments_are_found_at_any_depth(vault):
    root = vault({"a.md": "", "b/c/d.MD": "", "b/pic.png": b"x", "notes.txt": ""})
    assert listed(root) == ["a.md", "b/c/d.MD", "b/pic.png", "notes.txt"]


@pytest.mark.fault("C6", "C21", "E8")
@pytest.mark.parametrize(
    "path",
    [
        ".hidden.md",
        ".obsidian/app.md",
        ".trash/old.md",
        ".git/x.md",
        "node_modules/p/readme.md",
        "a.md~",
        ".#a.md",
        "#a.md#",
        "a.md.swp",
        "4913",
        "a.sync-conflict-20260101-120000-ABCDEFG.md",
        "a (conflicted copy 2026-01-01).md",
        "~$a.md",
        "a.md.tmp",
        "a.orig.md",
        "a.md.orig",
    ],
)
def test_leftovers_and_hidden_files_are_left_out(vault, path):
    assert listed(vault({"a.md": "", path: ""})) == ["a.md"]


@pytest.mark.fault("C21", "L6")
@pytest.mark.parametrize(
    "name",
    [
        "a (Ana's conflicted copy 2026-01-01).md",
        "a (Ana’s conflicted copy 2026-01-01 1).md",
        "a (Ana (work)'s conflicted copy 2026-01-01) (1).md",
        "a (DESKTOP-4 conflicted copy 2026-01-01).md",
        "a (Ana's conflicted copy).md",
        "a (conflicted copy).md",
        "a (Case Conflict).md",
        "a (Case Conflict 1).md",
        "a (Unicode Encoding Conflict).md",
        "a (White Space Conflict).md",
        "a (Selective Sync Conflict 2).md",
        "a (Anas in Konflikt stehende Kopie 2026-01-01).md",
        "a (Copie en conflit de Ana 2026-01-01).md",
        unicodedata.normalize("NFD", "a (Cópia em conflito de Ana 2026-01-01).md"),
        "a (Ana's conflicting copy 2026-01-01).md",
        "a (SFConflict ana@example.com 2026-01-01-12-00-00).md",
        "a (SFConflict 2026-01-01-12-00-00).md",
        "a_conflict-20260101-120000.md",
        "a_conflict-Ana-20260101-120000.md",
        "a (conflicted copy 2026-01-01 120000).md",
        "a (conflicted copy Ana 2026-01-01 120000).md",
        "a (case clash from 2026-01-01 120000).md",
        "a (Conflicted copy Ana's phone 202601011200).md",
        "a.sync-conflict-20260101-120000-ABCDEFG.md",
        "a.excalidraw (Ana's conflicted copy 2026-01-01).md",
        "a (Ana's conflicted copy 2026-01-01).canvas",
        "a_Andy-PC_Jan-03-0901-2013_CaseConflict_1.md",
        "a_DiskStation_Jan-03-0901-2026_Conflict.md",
        "a-laptop-safeBackup-0001.md",
        "a.conflict1.md",
        "a.md..path1",
        "a_conflict-20260101-102030-1.md",
    ],
)
def test_conflict_copies_are_left_out(vault, name):
    assert listed(vault({"a.md": "", "b/" + name: ""})) == ["a.md"]


@pytest.mark.fault("C21")
@pytest.mark.parametrize("name", ["a_{}_4711.md", "a.md.{}.4711.md", "a.{}.4711.md"])
def test_the_versions_that_git_merges_are_left_out(vault, name):
    versions = {f"b/{name.format(version)}": "" for version in ("BACKUP", "BASE", "LOCAL", "REMOTE")}
    assert listed(vault({"a.md": "", **versions})) == ["a.md"]


@pytest.mark.fault("C21")
@pytest.mark.parametrize(
    "name",
    [
        "Note 2.md",
        "Note (1).md",
        "Note copy.md",
        "Note - Copy.md",
        "Copy of Note.md",
        "Note-LAPTOP.md",
        "On conflicted copies.md",
        "Conflicted copy.md",
        "Dropbox (how to merge a conflicted copy).md",
        "Law (the case conflict of 2026).md",
        "Meeting (conflict resolution 2026-01-01).md",
        "My_conflict-zones.md",
        "house_local_2024.md",
        "Server_BACKUP_2026.md",
        "Meeting_LOCAL_12.md",
        "A_BASE.md",
        "history.conflict.md",
        "original.md",
        "orig.md",
        "SFConflict.md",
    ],
)
def test_a_name_that_a_user_may_give_is_kept(vault, name):
    assert listed(vault({name: ""})) == [name]


@pytest.mark.fault("C21", "E8")
@pytest.mark.parametrize(
    "folder",
    [
        "#recycle",
        "#snapshot",
        "@eaDir",
        "@Recycle",
        "@Recently-Snapshot",
        "$RECYCLE.BIN",
        "$Recycle.Bin",
        "System Volume Information",
        "found.000",
        "lost+found",
        "LOST.DIR",
        "__MACOSX",
        "~snapshot",
        "logseq/bak",
        "logseq/version-files",
        "_gsdata_",
        "vx_recycle_bin",
    ],
)
def test_folders_that_never_contain_notes_are_left_out(vault, folder):
    notes = {f"{folder}/b.md": "", f"graph/{folder}/deep/c.md": ""}
    assert listed(vault({"a.md": "", **notes})) == ["a.md"]


@pytest.mark.parametrize(
    "path",
    ["bak/a.md", "logseq/a.md", "my logseq/bak/a.md", "@people/a.md", "#1/a.md", "recycle/a.md", "_v/a.md"],
)
def test_a_folder_that_may_contain_notes_is_kept(vault, path):
    assert listed(vault({path: ""})) == [path]


@pytest.mark.fault("E8")
def test_a_vault_inside_a_vault_is_a_vault_of_its_own(vault):
    assert listed(vault({"a.md": "", "inner/.obsidian/app.json": "{}", "inner/b.md": ""})) == [
        "a.md",
        "inner!nested_vault",
    ]


def test_excluded_files_of_the_app_are_prefixes_or_expressions(vault):
    rules = '{"userIgnoreFilters": ["Private/", "/draft-\\\\d+/", "/(a+)+$/", "/(/", 7]}'
    slow = "a" * 40 + "!.md"
    names = ("Private/x.md", "draft-12.md", "draft.md", slow)
    root = vault({".obsidian/app.json": rules, **dict.fromkeys(names, "")})
    assert listed(root) == [".obsidian/app.json!bad_rule", slow, "draft.md"]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("/^(?!Notes\\/Work)/", ["Notes/Work/a.md"]),
        ("/^((?!keep).)*$/", ["Café/keep.md"]),
        ("/^Café\\//", ["Notes/Work/a.md", "b.md"]),
        ("Café", ["Notes/Work/a.md", "b.md"]),
        ("/", ["Café/keep.md", "Notes/Work/a.md", "b.md"]),
    ],
)
def test_an_expression_of_the_app_is_about_files_and_no_rule_about_everything(vault, rule, left):
    names = ("Notes/Work/a.md", "Cafe\u0301/keep.md", "b.md")
    root = vault(
        {".obsidian/app.json": json.dumps({"userIgnoreFilters": [rule]}), **dict.fromkeys(names, "")}
    )
    assert [unicodedata.normalize("NFC", path) for path in listed(root)] == left


@pytest.mark.parametrize("content", ["[", "[1]", '{"userIgnoreFilters": 3}', "[" * 100_000, "\xff"])
def test_broken_app_settings_exclude_nothing(vault, content):
    assert listed(vault({".obsidian/app.json": content.encode("latin-1"), "a.md": ""})) == ["a.md"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("Archive/", ["a.md", "Café/x.md"]),
        ("Archive", ["a.md", "Café/x.md"]),
        ("/Archive", ["a.md", "b/Archive/d.md", "Café/x.md"]),
        ("./Archive/", ["a.md", "b/Archive/d.md", "Café/x.md"]),
        ("**/Archive", ["a.md", "Café/x.md"]),
        ("**/d.md", ["Archive/c.md", "a.md", "Café/x.md"]),
        ("b/**/d.md", ["Archive/c.md", "a.md", "Café/x.md"]),
        ("b/**/Archive/**/d.md", ["Archive/c.md", "a.md", "Café/x.md"]),
        ("Archive/**", ["a.md", "b/Archive/d.md", "Café/x.md"]),
        ("*.md", []),
        ("a.md/", ["Archive/c.md", "a.md", "b/Archive/d.md", "Café/x.md"]),
        ("archive/*", ["a.md", "b/Archive/d.md", "Café/x.md"]),
        ("Café", ["Archive/c.md", "a.md", "b/Archive/d.md"]),
        ("", ["Archive/c.md", "a.md", "b/Archive/d.md", "Café/x.md"]),
        ("/", ["Archive/c.md", "a.md", "b/Archive/d.md", "Café/x.md"]),
    ],
)
def test_globs_of_the_configuration(vault, pattern, left):
    root = vault({"a.md": "", "Archive/c.md": "", "b/Archive/d.md": "", "Cafe\u0301/x.md": ""})
    found = [unicodedata.normalize("NFC", path) for path in listed(root, (pattern,))]
    assert sorted(found) == sorted(left)


@pytest.mark.fault("E1", "E2")
def test_links_and_special_files_are_named_and_never_followed(vault, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    root = vault({"a.md": ""})
    (root / "folder").symlink_to(outside)
    (root / "loop.md").symlink_to("loop.md")
    (root / "link.md").symlink_to(outside / "secret.md")
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as s:
        here = Path.cwd()
        os.chdir(root)
        s.bind("s.md")
        os.chdir(here)
    found = listed(root)
    assert found == [
        "a.md",
        "folder!link",
        "link.md!not_a_file",
        "loop.md!not_a_file",
        "pipe.md!not_a_file",
        "s.md!not_a_file",
    ]


def test_what_is_meant_to_be_left_out_is_not_named(vault, tmp_path):
    root = vault({"a.md": "", "Archive/inner/.obsidian/app.json": "{}", ".hidden/.obsidian/app.json": "{}"})
    for name in ("Archive/link", ".link", "Linked", "image.png"):
        (root / name).symlink_to(tmp_path / "nowhere")
    assert listed(root, ("Archive/", "Linked/")) == ["a.md"]


@pytest.mark.fault("E6")
def test_strange_names_are_handled_or_reported(vault):
    root = vault({"..x.md": "", "-a.md": "", "new\nline.md": "", "ünï 😀.md": "", "trailing .md": ""})
    (root / os.fsdecode(b"bad\xff.md")).write_text("")
    assert listed(root) == ["-a.md", "bad\\xff.md!bad_name", "new\nline.md", "trailing .md", "ünï 😀.md"]


def test_a_closed_folder_costs_only_itself(vault, monkeypatch):
    root = vault({"a.md": "", "locked/b.md": "", "open/c.md": ""})
    real_scandir = os.scandir

    def scandir(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert listed(root) == ["a.md", "locked!unreadable_folder", "open/c.md"]


HOSTILE = "((((a{100}){100}){100}){100}){100}"


@pytest.mark.fault("D10", "K1")
def test_a_rule_that_would_take_all_memory_is_named_and_not_compiled(vault):
    rules = json.dumps({"userIgnoreFilters": [f"/{HOSTILE}/", "Private/"]})
    root = vault({".obsidian/app.json": rules, "Private/x.md": "", "a.md": ""})
    assert listed(root) == [".obsidian/app.json!bad_rule", "a.md"]
    (problem,) = (file.problem for file in scan(root, Ignore(root)) if file.problem)
    assert HOSTILE in problem.message


@pytest.mark.fault("K1")
def test_many_slow_rules_have_little_time_together(vault, monkeypatch):
    monkeypatch.setattr(ignore, "EXCLUDED_RULES_SECONDS", 0.1)
    rules = json.dumps({"userIgnoreFilters": [f"/(a+)+{number}$/" for number in range(100)] + ["/x/"]})
    slow = [f"{'a' * 40}{number}!.md" for number in range(10)]
    root = vault({".obsidian/app.json": rules, **dict.fromkeys([*slow, "x.md"], "")})
    began = time.thread_time()
    found = listed(root)
    assert time.thread_time() - began < 5  # a thousand timeouts would take ten seconds
    assert found[0] == ".obsidian/app.json!bad_rule"
    assert [path for path in found if "!bad_rule" not in path] == sorted(slow)


@pytest.mark.fault("K1")
def test_rules_are_compiled_as_long_as_there_is_time(vault, monkeypatch):
    monkeypatch.setattr(ignore, "EXCLUDED_RULES_SECONDS", 0.0)
    seen = []
    monkeypatch.setattr(ignore, "compiled", lambda rule: seen.append(rule) or matching.compiled(rule))
    rules = json.dumps({"userIgnoreFilters": [f"/{'ab' * 300}{number}/" for number in range(100)]})
    root = vault({".obsidian/app.json": rules, "a.md": "", "b.md": ""})
    assert listed(root)[-2:] == ["a.md", "b.md"]
    assert len(seen) == 1


def test_settings_of_the_app_that_are_a_pipe_do_not_block(vault):
    root = vault({"a.md": "", ".obsidian/x": ""})
    os.mkfifo(root / ".obsidian/app.json")
    assert listed(root) == ["a.md"]


@pytest.mark.parametrize(
    ("pattern", "left_out", "kept"),
    [
        (r"\[draft\] *", "[draft] x.md", "d x.md"),
        (r"what\?.md", "what?.md", "whats.md"),
        (r"\*.md", "*.md", "a.md"),
        ("[ab].md", "a.md", "[ab].md"),
    ],
)
def test_a_backslash_takes_a_sign_as_it_is(tmp_path, pattern, left_out, kept):
    ignore = Ignore(tmp_path, [pattern])
    assert ignore.is_excluded(left_out)
    assert not ignore.is_excluded(kept)
