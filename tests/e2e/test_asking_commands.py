"""Every way to ask beside a plain search, through the command line and a real daemon."""

from __future__ import annotations

import json

NOTES = {
    "pump.md": "---\ntags: [work/pumps]\naliases: [Bilge]\nstatus: open\n---\n# Pump\n\nSwitch E-4107.\n",
    "garden.md": "# Garden\n\n## Pests\n\nSlugs eat the lettuce. See [[pump]] and [[nowhere]].\n",
    "sub/tea.md": "Green tea for the pump crew. #drinks\n",
}


def test_filters_as_options_and_paths_for_pipes(daemon, vault):
    root = vault(NOTES)
    here = ["--vault", str(root)]
    daemon.run("index", "--wait", *here)
    assert daemon.paths("--tag", "work", *here) == ["pump.md"]
    assert daemon.paths("--not-tag", "work", "--path", "sub/", *here) == ["sub/tea.md"]
    assert daemon.paths("--property", "status=open", *here) == ["pump.md"]
    assert daemon.paths("--links-to", "Pump", *here) == ["garden.md"]
    assert daemon.paths("--linked-from", "garden", *here) == ["pump.md"]
    assert daemon.paths("pump", "--exclude", "crew", "--not-path", "garden", *here) == ["pump.md"]
    assert daemon.paths("--created-before", "2000", *here) == []
    found = daemon.run("search", "tag:drinks", "--paths", *here)
    assert found.stdout == f"{root}/sub/tea.md\n"
    assert daemon.run("search", "--tag", "drinks", "--paths", *here, cwd=root / "sub").stdout == "tea.md\n"
    assert daemon.run("search", "--property", "status", *here).returncode == 2


def test_filters_alone_list_every_note(daemon, vault):
    root = vault({f"n{number:03}.md": f"Line {number}. #all" for number in range(250)})
    answer = daemon.json("search", "tag:all", "--vault", str(root), "--wait", "--mode", "keyword")
    assert (len(answer["results"]), answer["count"], answer["total"]) == (250, 250, 250)
    assert {result["path"] for result in answer["results"]} == {f"n{n:03}.md" for n in range(250)}
    assert len(daemon.run("search", "tag:all", "--paths", "--vault", str(root)).stdout.splitlines()) == 250
    assert len(daemon.paths("tag:all", "-n", "3", "--vault", str(root))) == 3


def test_results_have_the_names_that_other_tools_use(daemon, vault):
    root = vault(NOTES)
    answer = json.loads(daemon.run("search", "slugs", "--json", "--wait", "--vault", str(root)).stdout)
    first = answer["results"][0]
    assert first["bm25Rank"] == first["lanes"]["keyword"]["rank"] == 1
    assert first["search_method"] == "hybrid"
    assert first["content_preview"] == first["preview"]
    assert answer["count"] == len(answer["results"])
    assert answer["vault_path"] == str(root)


GARDEN = {
    "Pump.md": "---\ntags: [work/pumps]\naliases: [Bilge]\nstatus: open\n---\n# Pump\n\nSwitch. [[Tea]]\n",
    "Garden.md": "# Garden\n\n## Pests\n\nSlugs eat the lettuce. See [[Pump|the pump]]\nand [[nowhere]].\n",
    "sub/Tea.md": "Green tea at the bilge, near the garden. #drinks\n",
    "sub/Alone.md": "---\nstatus: done\n---\nNothing links here, `Pump` is code and [[Pump]] a link.\n",
    "A/Log.md": "one",
    "B/Log.md": "two",
}


def test_notes_links_and_words(daemon, vault):
    root = vault(GARDEN)
    here = ["--vault", str(root)]
    daemon.run("index", "--wait", *here)

    note = daemon.json("read", "bilge", "--lines", "6-8", *here)
    assert (note["path"], note["lines"], note["start_line"], note["end_line"]) == ("Pump.md", 8, 6, 8)
    assert note["text"] == "# Pump\n\nSwitch. [[Tea]]"
    assert note["properties"]["status"] == "open"
    assert daemon.run("read", "Tea", *here).stdout.startswith("Green tea")

    links = daemon.json("links", "garden", *here)
    assert [(link["resolved"], link["line"]) for link in links["outgoing"]] == [("Pump.md", 5)]
    assert [link["target"] for link in links["unresolved"]] == ["nowhere"]
    backlinks = daemon.json("links", "Pump.md", *here)["backlinks"]
    assert [(link["path"], link["line"], link["text"]) for link in backlinks] == [
        ("Garden.md", 5, "Slugs eat the lettuce. See [[Pump|the pump]]"),
        ("sub/Alone.md", 4, "Nothing links here, `Pump` is code and [[Pump]] a link."),
    ]
    broken = daemon.json("broken-links", *here)["links"]
    assert [(link["path"], link["target"], link["line"]) for link in broken] == [("Garden.md", "nowhere", 6)]

    around = daemon.json("neighbors", "Garden", "--depth", "2", *here)
    found = [(note["path"], note["depth"], note["direction"], note["via"]) for note in around["notes"]]
    assert found == [
        ("Pump.md", 1, "out", None),
        ("sub/Alone.md", 2, None, "Pump.md"),
        ("sub/Tea.md", 2, None, "Pump.md"),
    ]
    assert ["Garden.md", "Pump.md"] in around["edges"]
    mentions = daemon.json("unlinked", "Pump", *here)["mentions"]
    assert [(item["path"], item["name"], item["line"]) for item in mentions] == [("sub/Tea.md", "Bilge", 1)]

    orphans = {note["path"] for note in daemon.json("orphans", *here)["notes"]}
    assert orphans == {"Garden.md", "sub/Alone.md", "A/Log.md", "B/Log.md"}
    isolated = {note["path"] for note in daemon.json("orphans", "--isolated", *here)["notes"]}
    assert isolated == {"A/Log.md", "B/Log.md"}
    tags = daemon.json("tags", *here)["tags"]
    assert tags == [
        {"tag": "drinks", "count": 1, "total": 1},
        {"tag": "work", "count": 0, "total": 1},
        {"tag": "work/pumps", "count": 1, "total": 1},
    ]
    properties = {item["name"]: item for item in daemon.json("properties", *here)["properties"]}
    assert properties["status"]["count"] == 2
    values = daemon.json("properties", "status", *here)["values"]
    assert values == [{"value": "done", "count": 1}, {"value": "open", "count": 1}]
    assert daemon.run("complete", "bil", *here).stdout == "Bilge\n"
    assert daemon.run("complete", "--kind", "value", "--property", "status", *here).stdout == "done\nopen\n"

    related = daemon.json("related", "Garden", *here)
    likes = {result["path"]: result for result in related["results"]}
    assert likes.keys() == GARDEN.keys() - {"Garden.md"}
    assert (likes["Pump.md"]["link"], likes["sub/Tea.md"]["link"]) == ("out", None)
    assert likes["Pump.md"]["rank"] < 3
    assert set(likes["Pump.md"]["lanes"]) >= {"semantic", "links"}
    assert related["partial"] == []

    commands = ("links Garden", "neighbors Garden", "unlinked Pump", "broken-links", "orphans", "tags",
                "properties", "related Garden", "read Tea")  # fmt: skip
    for command in commands:
        shown = daemon.run(*command.split(), *here)
        assert (shown.returncode, shown.stderr) == (0, ""), command
        assert shown.stdout.strip(), command
    inside = daemon.run("orphans", "--isolated", "--paths", *here, cwd=root / "A")
    assert inside.stdout == "Log.md\n../B/Log.md\n"


def test_which_note_is_meant(daemon, vault, tmp_path):
    root = vault(GARDEN)
    here = ["--vault", str(root)]
    daemon.run("index", "--wait", *here)
    for name in ("Pump", "pump.md", "PUMP", "Bilge", "./Pump.md", str(root / "Pump.md")):
        assert daemon.json("read", name, *here)["path"] == "Pump.md", name
    assert daemon.json("read", "B/Log", *here)["path"] == "B/Log.md"
    assert daemon.json("read", "Log.md", *here, cwd=root / "A")["path"] == "A/Log.md", "a file here"
    several = daemon.run("read", "log", *here)
    assert several.returncode == 2
    assert "A/Log.md, B/Log.md" in several.stderr
    nobody = daemon.run("read", "nobody", *here)
    assert (nobody.returncode, nobody.stderr.count("\n")) == (1, 1)
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    for path in (
        "../outside.md",
        "../../etc/passwd",
        "/etc/passwd",
        str(outside),
        "sub/../../outside.md",
        "..",
    ):
        done = daemon.run("read", path, *here)
        assert (done.returncode, done.stdout) == (2, ""), path
        assert "secret" not in done.stderr


def test_why_a_note_is_found_or_lost(daemon, vault):
    root = vault(GARDEN | {f"n{number}.md": f"lettuce lettuce {number}" for number in range(30)})
    here = ["--vault", str(root)]
    daemon.run("index", "--wait", *here)
    found = daemon.json("why", "slugs", "Garden", *here)
    assert (found["verdict"], found["result"]["path"]) == ("found", "Garden.md")
    filtered = daemon.json("why", "slugs tag:drinks -path:x", "Garden", *here)
    assert filtered["verdict"] == "filtered"
    assert [item["satisfied"] for item in filtered["filters"]] == [False, True]
    below = daemon.json("why", "lettuce", "Garden", "--mode", "keyword", "-n", "1", *here)
    assert below["verdict"] in ("below_limit", "no_lane")
    assert below["lanes"]["keyword"]["rank"] > 1
    lost = daemon.json("why", "quicksilver", "Garden", "--mode", "keyword", *here)
    assert lost["verdict"] == "no_lane"
    assert "none of the words" in lost["reason"]
    shown = daemon.run("why", "slugs tag:drinks", "Garden", *here)
    assert (shown.returncode, "filtered: excluded by: tag drinks" in shown.stdout) == (1, True)


def test_vaults_are_added_paused_and_removed_and_a_restart_knows(daemon, vault, eventually, tmp_path):
    root = vault(GARDEN)
    added = daemon.json("vault", "add", str(root), "--name", "house")
    assert added == {"name": "house", "path": str(root)}
    assert daemon.run("vault", "add", str(root)).returncode == 2, "twice"
    assert daemon.run("vault", "add", str(tmp_path / "none")).returncode == 3
    assert daemon.run("vault", "add", str(daemon.home)).returncode == 2
    assert daemon.paths("tea", "--wait")[0] == "sub/Tea.md", "the only vault needs no name"
    daemon.stop()
    listed = daemon.json("vault", "list")["vaults"]
    assert [(item["name"], item["path"], item["from"]) for item in listed] == [("house", str(root), "added")]

    assert daemon.json("vault", "pause", "house")["paused"] is True
    daemon.stop()
    (root / "late.md").write_text("quicksilver")
    assert daemon.json("vault", "list")["vaults"][0]["state"] == "paused"
    assert daemon.paths("tea", "--mode", "keyword")[0] == "sub/Tea.md", "what is known is still found"
    assert daemon.paths("quicksilver", "--mode", "keyword") == []
    refused = daemon.run("index", "--wait", "--vault", "house")
    assert (refused.returncode, "vault resume house" in refused.stderr) == (3, True)
    assert daemon.run("vault", "resume", "house").returncode == 0
    eventually(lambda: daemon.paths("quicksilver", "--mode", "keyword") == ["late.md"])

    assert daemon.run("vault", "remove", "house", "--delete-index").returncode == 0
    assert daemon.json("vault", "list")["vaults"] == []
    assert not list((tmp_path / "data" / "vaultseek" / "vaults").iterdir())
    assert (root / "late.md").exists()
    assert daemon.run("search", "tea").returncode == 2
    assert daemon.run("vault", "remove", "house").returncode == 3


def test_the_client_s_shortcuts_speak_the_protocol(daemon, vault):
    from vaultseek.client import Client

    root = vault({"a.md": "# Alpha\n\nSee [[b]].\n", "b.md": "# Beta\n\nPlain.\n"})
    daemon.run("index", "--wait", "--vault", str(root))
    with Client() as client:
        where = {"vault": str(root)}
        assert "Alpha" in client.note("a", **where)["text"]
        assert [link["path"] for link in client.backlinks("b", **where)["links"]] == ["a.md"]
        assert client.related("a", **where)["results"]
        assert client.complete("note", "Al", **where)["items"]


def test_the_first_question_about_a_new_vault_waits_for_its_notes(daemon, vault):
    root = vault({"a.md": "[[b]]", "b.md": "x", ".obsidian/x": ""})
    assert [link["resolved"] for link in daemon.json("links", "a.md", cwd=root)["outgoing"]] == ["b.md"]


def test_a_vault_keeps_the_name_that_it_was_opened_by_when_it_is_added(daemon, vault):
    root = vault({".obsidian/app.json": "{}", "a.md": "hello\n"})
    daemon.run("search", "hello", "--vault", str(root))
    assert daemon.run("vault", "add", str(root)).returncode == 0
    assert [known["name"] for known in daemon.json("vault", "list")["vaults"]] == [root.name]


def test_why_takes_a_query_that_begins_with_an_exclusion(daemon, vault):
    root = vault({"a.md": "hello\n"})
    done = daemon.run("why", "-path:Notes/ hello", "a", "--vault", str(root))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_negative_limit_is_named_as_it_was_written(daemon):
    done = daemon.run("search", "x", "-n", "-3")
    assert done.returncode == 2
    assert "-3" in done.stderr
    assert "\0" not in done.stderr
    assert "x00" not in done.stderr


def test_a_query_beyond_any_message_is_wrong_use(daemon, vault):
    root = vault({"a.md": "hello\n"})
    done = daemon.run("search", *["word" * 500] * 200, "--vault", str(root))
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
