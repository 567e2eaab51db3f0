"""Filters, and the commands for notes, links, tags and vaults, with a real daemon."""

import json
import subprocess
import sys

import pytest

from worlds import write_files

NOTES = {
    "pump.md": "---\ntags: [work/pumps]\naliases: [Bilge]\nstatus: open\n---\n# Pump\n\nSwitch E-4107.\n",
    "garden.md": "# Garden\n\n## Pests\n\nSlugs eat the lettuce. See [[pump]] and [[nowhere]].\n",
    "sub/tea.md": "Green tea for the pump crew. #drinks\n",
}


@pytest.mark.shared_daemon
def test_filters_as_options_and_paths_for_pipes(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    here = ["--vault", str(root)]
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


@pytest.mark.shared_daemon
def test_filters_alone_list_every_note(daemon, vault):
    root = vault({f"n{number:03}.md": f"Line {number}. #all" for number in range(250)})
    answer = daemon.json("search", "tag:all", "--vault", str(root), "--wait", "--mode", "keyword")
    assert (len(answer["results"]), answer["count"], answer["total"]) == (250, 250, 250)
    assert {result["path"] for result in answer["results"]} == {f"n{n:03}.md" for n in range(250)}
    assert len(daemon.run("search", "tag:all", "--paths", "--vault", str(root)).stdout.splitlines()) == 250
    assert len(daemon.paths("tag:all", "-n", "3", "--vault", str(root))) == 3


@pytest.mark.shared_daemon
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


@pytest.fixture(scope="module")
def garden(indexed_vault):
    return indexed_vault(GARDEN)


def test_read_returns_a_note_or_some_of_its_lines(garden):
    note = garden.json("read", "bilge", "--lines", "6-8")
    assert (note["path"], note["lines"], note["start_line"], note["end_line"]) == ("Pump.md", 8, 6, 8)
    assert note["text"] == "# Pump\n\nSwitch. [[Tea]]"
    assert note["properties"]["status"] == "open"
    assert garden.run("read", "Tea").stdout.startswith("Green tea")
    assert garden.json("read", "Pump.md:6-8")["text"] == note["text"], "as an agent's list names lines"
    assert garden.json("read", "Pump.md:6")["text"] == "# Pump"
    for beyond in (["Pump", "--lines", "9-12"], ["Pump", "--lines", "9"], ["Pump.md:9-12"]):
        done = garden.run("read", *beyond)
        assert (done.returncode, done.stdout) == (2, "")
        assert '"Pump.md" has 8 lines' in done.stderr
    assert garden.run("read", "Pump", "--lines", "-1").stdout == "---\n"


def test_links_in_both_directions_with_their_lines(garden):
    links = garden.json("links", "garden")
    assert [(link["resolved"], link["line"]) for link in links["outgoing"]] == [("Pump.md", 5)]
    assert [link["target"] for link in links["unresolved"]] == ["nowhere"]
    backlinks = garden.json("links", "Pump.md")["backlinks"]
    assert [(link["path"], link["line"], link["text"]) for link in backlinks] == [
        ("Garden.md", 5, "Slugs eat the lettuce. See [[Pump|the pump]]"),
        ("sub/Alone.md", 4, "Nothing links here, `Pump` is code and [[Pump]] a link."),
    ]
    broken = garden.json("broken-links")["links"]
    assert [(link["path"], link["target"], link["line"]) for link in broken] == [("Garden.md", "nowhere", 6)]


def test_neighbors_orphans_and_unlinked_mentions(garden):
    around = garden.json("neighbors", "Garden", "--depth", "2")
    notes = [(note["path"], note["depth"], note["direction"], note["via"]) for note in around["notes"]]
    assert notes == [
        ("Pump.md", 1, "out", None),
        ("sub/Alone.md", 2, None, "Pump.md"),
        ("sub/Tea.md", 2, None, "Pump.md"),
    ]
    assert ["Garden.md", "Pump.md"] in around["edges"]
    mentions = garden.json("unlinked", "Pump")["mentions"]
    assert [(item["path"], item["name"], item["line"]) for item in mentions] == [("sub/Tea.md", "Bilge", 1)]
    orphans = {note["path"] for note in garden.json("orphans")["notes"]}
    assert orphans == {"Garden.md", "sub/Alone.md", "A/Log.md", "B/Log.md"}
    isolated = {note["path"] for note in garden.json("orphans", "--isolated")["notes"]}
    assert isolated == {"A/Log.md", "B/Log.md"}


def test_tags_properties_and_their_completion(garden):
    assert garden.json("tags")["tags"] == [
        {"tag": "drinks", "count": 1, "total": 1},
        {"tag": "work", "count": 0, "total": 1},
        {"tag": "work/pumps", "count": 1, "total": 1},
    ]
    properties = {item["name"]: item for item in garden.json("properties")["properties"]}
    assert properties["status"]["count"] == 2
    values = garden.json("properties", "status")["values"]
    assert values == [{"value": "done", "count": 1}, {"value": "open", "count": 1}]
    assert garden.run("complete", "bil").stdout == "Bilge\n"
    assert garden.run("complete", "--kind", "value", "--property", "status").stdout == "done\nopen\n"


def test_related_notes_by_meaning_and_by_link(garden):
    related = garden.json("related", "Garden")
    by_path = {result["path"]: result for result in related["results"]}
    assert by_path.keys() == GARDEN.keys() - {"Garden.md", "A/Log.md", "B/Log.md"}
    assert (by_path["Pump.md"]["link"], by_path["sub/Tea.md"]["link"]) == ("out", None)
    assert by_path["Pump.md"]["rank"] <= 3
    assert set(by_path["Pump.md"]["lanes"]) >= {"semantic", "links"}
    assert related["partial"] == []


def test_nothing_related_to_a_note_is_no_fault_of_words(indexed_vault):
    vault = indexed_vault({"empty.md": "", "quay.md": "# Quay\n\nCranes unload.\n"})
    done = vault.run("related", "empty.md")
    assert (done.returncode, done.stderr) == (1, "")
    assert (
        done.stdout
        == "Found nothing related to empty.md: no note is similar to this one in meaning or linked to it.\n"
    )


@pytest.mark.parametrize(
    "command",
    ["links Garden", "neighbors Garden", "unlinked Pump", "broken-links", "orphans", "tags", "properties",
     "related Garden", "read Tea"],
)  # fmt: skip
def test_commands_print_text_for_people(garden, command):
    shown = garden.run(*command.split())
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.strip()


def test_paths_are_printed_relative_to_the_current_folder(garden):
    shown = garden.run("orphans", "--isolated", "--paths", cwd=garden.root / "A")
    assert shown.stdout == "Log.md\n../B/Log.md\n"


@pytest.mark.parametrize("name", ["Pump", "pump.md", "PUMP", "Bilge", "./Pump.md"])
def test_a_note_may_be_named_in_several_ways(garden, name):
    assert garden.json("read", name)["path"] == "Pump.md"


def test_which_note_is_meant(garden):
    assert garden.json("read", str(garden.root / "Pump.md"))["path"] == "Pump.md"
    assert garden.json("read", "B/Log")["path"] == "B/Log.md"
    assert garden.json("read", "Log.md", cwd=garden.root / "A")["path"] == "A/Log.md", "a file here"
    several = garden.run("read", "log")
    assert several.returncode == 2
    assert "A/Log.md, B/Log.md" in several.stderr
    nobody = garden.run("read", "nobody")
    assert (nobody.returncode, nobody.stderr.count("\n")) == (1, 1)
    alone = garden.run("links", "A/Log")
    assert (alone.returncode, "This note has no links and no backlinks." in alone.stdout) == (1, True)
    misspelt = garden.run("links", "Gardne")
    assert misspelt.stderr == 'vaultseek: no note matches "Gardne"; did you mean "Garden"?\n'


@pytest.mark.parametrize(
    "path",
    ["../outside.md", "../../etc/passwd", "/etc/passwd", "{outside}", "sub/../../outside.md", ".."],
)
def test_nothing_outside_the_vault_is_read(garden, path):
    outside = garden.root.parent / "outside.md"
    outside.write_text("secret")
    done = garden.run("read", path.format(outside=outside))
    assert (done.returncode, done.stdout) == (2, "")
    assert "secret" not in done.stderr


@pytest.mark.shared_daemon
def test_why_a_note_is_found_or_lost(daemon, vault):
    root = daemon.indexed(
        vault(GARDEN | {f"n{number}.md": f"lettuce lettuce {number}" for number in range(30)})
    )
    here = ["--vault", str(root)]
    found = daemon.json("why", "slugs", "Garden", *here)
    assert (found["verdict"], found["result"]["path"]) == ("found", "Garden.md")
    filtered = daemon.json("why", "slugs tag:drinks -path:x", "Garden", *here)
    assert filtered["verdict"] == "filtered"
    assert [item["satisfied"] for item in filtered["filters"]] == [False, True]
    below = daemon.json("why", "lettuce", "Garden", "--mode", "keyword", "-n", "1", *here)
    assert below["verdict"] in ("below_limit", "no_lane")
    assert below["lanes"]["keyword"]["rank"] > 1
    shown = daemon.run("why", "lettuce 7", "n29", "--mode", "keyword", "-n", "1", *here)
    assert shown.stdout.splitlines()[1].startswith("below limit: ")
    assert " adds" in shown.stdout, "what the note lacks"
    lost = daemon.json("why", "quicksilver", "Garden", "--mode", "keyword", *here)
    assert lost["verdict"] == "no_lane"
    assert "none of the words" in lost["reason"]
    weak = daemon.run("why", "slugs zeppelin tungsten quicksilver", "Garden", "--mode", "keyword", *here)
    assert "no note matches; these are the closest" in weak.stdout.splitlines()
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


@pytest.mark.shared_daemon
def test_the_first_question_about_a_new_vault_waits_for_its_notes(daemon, vault):
    root = vault({"a.md": "[[b]]", "b.md": "x", ".obsidian/x": ""})
    assert [link["resolved"] for link in daemon.json("links", "a.md", cwd=root)["outgoing"]] == ["b.md"]


def test_a_vault_keeps_the_name_that_it_was_opened_by_when_it_is_added(daemon, vault):
    root = vault({".obsidian/app.json": "{}", "a.md": "hello\n"})
    daemon.run("search", "hello", "--vault", str(root))
    assert daemon.run("vault", "add", str(root)).returncode == 0
    assert [known["name"] for known in daemon.json("vault", "list")["vaults"]] == [root.name]


@pytest.mark.shared_daemon
def test_why_takes_a_query_that_begins_with_an_exclusion(daemon, vault):
    root = vault({"a.md": "hello\n"})
    assert daemon.paths("hello", "--wait", "--vault", str(root)) == ["a.md"]
    done = daemon.run("why", "-path:Notes/ hello", "a", "--vault", str(root))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_negative_limit_is_named_as_it_was_written(daemon):
    done = daemon.run("search", "x", "-n", "-3")
    assert done.returncode == 2
    assert "-3" in done.stderr
    assert "\0" not in done.stderr
    assert "x00" not in done.stderr


@pytest.mark.shared_daemon
def test_a_query_beyond_any_message_is_wrong_use(daemon, vault):
    root = vault({"a.md": "hello\n"})
    done = daemon.run("search", *["word" * 500] * 200, "--vault", str(root))
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1


SAVED = {
    "pumps.md": "# Pumps\n\n- [ ] Order valve E-4107 for the bilge pump.\n- [x] Read the manual.\n",
    "tea.md": "# Tea\n\n%%secret remark%%\nThe kettle boils. Code E-99.\n",
    "copy/pumps.md": "# Pumps\n\n- [ ] Order valve E-4107 for the bilge pump.\n- [x] Read the manual!\n",
}


def test_a_regular_expression_finds_the_line_and_keeps_its_words(indexed_vault):
    vault = indexed_vault(SAVED)
    answer = vault.json("search", r"/e-\d{4}\b/ -path:copy/")
    assert [(r["path"], r["line"], r["column"]) for r in answer["results"]] == [("pumps.md", 3, 19)]
    first = answer["results"][0]
    marks = [first["preview"][low:high] for low, high in first["highlights"]]
    assert marks == ["E-4107"]
    assert vault.paths(r"kettle /e-\d+/")[0] == "tea.md"
    assert vault.paths(r"/^# Tea$/") == ["tea.md"]
    assert set(vault.paths(r"task-todo:/e-\d+/")) == {"pumps.md", "copy/pumps.md"}
    assert vault.paths(r"-/valve/") == ["tea.md"]
    broken = vault.json("search", "/(kettle/")
    assert "it is not a valid regular expression" in broken["interpreted"]["notes"][0]
    slow = vault.run("search", r"/(x+x+)+y/")
    assert slow.returncode == 1, "no note has an x, so nothing is slow"


@pytest.mark.shared_daemon
def test_an_expression_that_takes_for_ever_is_an_error(daemon, vault):
    root = vault({"a.md": "x" * 60 + "!\n"})
    daemon.run("index", "--vault", str(root), check=True)
    done = daemon.run("search", "/^(x|xx)+$/", "--vault", str(root))
    assert (done.returncode, "takes too long" in done.stderr) == (2, True)
    assert daemon.paths("x" * 60, "--mode", "keyword", "--vault", str(root)) == ["a.md"]


def test_the_notes_most_alike_come_first(indexed_vault):
    vault = indexed_vault({**SAVED, "other.md": "Nothing like it at all, but a longer line of words."})
    answer = vault.json("duplicates")
    assert [note["path"] for note in answer["pairs"][0]["notes"]] == ["copy/pumps.md", "pumps.md"]
    scores = [pair["score"] for pair in answer["pairs"]]
    assert scores == sorted(scores, reverse=True)
    shown = vault.run("duplicates", "-n", "1").stdout.splitlines()
    assert shown[1].split()[0] == "copy/pumps.md"
    assert len(shown) == 3


def test_a_passage_from_standard_input_is_searched_for_as_words(indexed_vault):
    vault = indexed_vault(SAVED)
    passage = 'When the kettle boils (path:nowhere) it is "time" for -tea /x/.\n' * 20
    done = vault.run("search", "-", "--paths", input=passage)
    assert done.stdout.splitlines()[0].endswith("tea.md")
    assert vault.run("search", "-", input=" \n").returncode == 2
    assert vault.run("search", "-", input="word " * 3000).returncode == 2


def test_a_saved_search_stands_for_its_query(daemon, vault):
    root = vault(SAVED)
    config = daemon.home / "config.toml"
    config.write_text("[searches]\ntodo = 'task-todo:\"\" OR path:nowhere'\n\"Dash-1\" = 'path:copy/'\n")
    here = ("--config", str(config), "--vault", str(root))
    assert set(daemon.paths("@todo", "--wait", *here)) == {"pumps.md", "copy/pumps.md"}
    assert daemon.paths("@todo", "@dash-1", "valve", *here) == ["copy/pumps.md"]
    answer = daemon.json("search", "@tod", *here)
    assert (
        '"@tod" was treated as a word; the saved searches are @Dash-1, @todo'
        in answer["interpreted"]["notes"]
    )
    assert daemon.json("search", "@todo", *here)["query"] == "@todo"
    assert daemon.json("why", "@todo", "tea", *here)["verdict"] == "filtered"


@pytest.mark.shared_daemon
def test_evidence_of_several_notes_is_printed_within_a_budget(daemon, vault):
    root = daemon.indexed(vault({**NOTES, "long.md": "# Long\n\n" + "The pump needs oil. " * 200}))
    here = ["--vault", str(root)]
    done = daemon.run("context", "pump", "--tokens", "300", *here)
    assert "\n- long.md:" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("[left out: ")
    assert len(done.stdout.encode()) <= 900
    assert daemon.json("context", "pump", "--tokens", "300", *here)["text"] == done.stdout.rstrip("\n")
    none = daemon.run("context", "tag:nothing", *here)
    assert (none.returncode, "No note" in none.stdout) == (1, True)
    agent = daemon.run("search", "slugs", "--format", "agent", *here)
    assert "- garden.md:" in agent.stdout
    assert agent.stdout.startswith("Untrusted data")
    whole = daemon.json("search", "slugs", *here)
    assert agent.stdout.count("\n- ") == whole["count"] - whole["less_certain"] < whole["count"]


@pytest.mark.shared_daemon
def test_a_part_of_a_note_whose_name_has_a_hash_is_read(daemon, vault):
    root = daemon.indexed(vault({"C# notes.md": "# C# notes\n\n## Loops\nfor\n\n## Types\nint ^t1\n"}))
    here = ["--vault", str(root)]
    assert daemon.run("read", "C# notes#Loops", *here).stdout == "## Loops\nfor\n\n"
    assert "int ^t1" in daemon.run("read", "C# notes.md#^t1", *here).stdout
    opened = daemon.run("open", "C# notes#Types", *here, env={"EDITOR": "echo", "VISUAL": ""})
    assert "C# notes.md" in opened.stdout
    wrong = daemon.run("read", "C# notes#Looops", *here)
    assert (wrong.returncode, "has no heading" in wrong.stderr) == (1, True)
    twice = daemon.run("read", "C# notes#Loops", "--lines", "3-5", *here)
    assert (
        twice.returncode,
        "refers to a part of a note; leave out the part or --lines" in twice.stderr,
    ) == (
        2,
        True,
    )
    missing = daemon.run("read", "C notes", "--lines", "3-5", *here)
    assert (missing.returncode, 'did you mean "C# notes"?' in missing.stderr) == (1, True)


@pytest.mark.shared_daemon
def test_a_block_is_opened_at_its_line(daemon, vault):
    root = daemon.indexed(vault({"Log.md": "# Log\n\nDry.\n\nWet.\n\nHot. ^heat\n"}))
    opened = daemon.run("open", "Log#^heat", "--vault", str(root), env={"EDITOR": "echo", "VISUAL": ""})
    assert opened.stdout.startswith("+7 ")


@pytest.mark.shared_daemon
def test_a_bare_word_is_a_vault_or_else_a_folder_here(daemon, tmp_path):
    root = tmp_path / "plot"  # no vault has this name
    root.mkdir()
    daemon.run("vault", "add", str(root), "--name", "allotment", check=True)
    for command in ("pause", "resume", "remove"):
        done = daemon.run("vault", command, root.name, cwd=root.parent)
        assert (done.returncode, str(root) in done.stdout) == (0, True), done.stderr
    unknown = daemon.run("vault", "pause", "nowhere", cwd=root.parent)
    assert 'no vault named "nowhere"' in unknown.stderr


@pytest.mark.shared_daemon
def test_an_agents_list_of_several_vaults_names_the_vault_of_each_note(daemon, tmp_path):
    words = "The walrus rests. " * 30
    roots = [
        daemon.indexed(write_files(tmp_path / name, {f"{n}.md": words for n in range(30)}))
        for name in ("one", "two")
    ]
    where = [part for root in roots for part in ("--vault", str(root))]
    shown = daemon.run("search", "walrus", "--format", "agent", "-n", "60", *where).stdout
    assert "results in 2 vaults" in shown
    assert " | vault one | " in shown
    assert " | vault two | " in shown
    assert "more; narrow the search, or use --format json]" in shown
    assert "max_tokens" not in shown


@pytest.mark.shared_daemon
def test_paths_are_whole_in_a_folder_that_was_removed(daemon, vault, tmp_path):
    root = daemon.indexed(vault({"a.md": "walrus"}))
    command = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m vaultseek search walrus"
    done = subprocess.run(
        ["sh", "-c", f"{command} --paths --vault {root}"],
        cwd=tmp_path,
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, done.stdout) == (0, f"{root}/a.md\n"), done.stderr


def test_stale_notes_are_listed_and_marked_where_they_are_found(indexed_vault):
    vault = indexed_vault(
        {
            "Old.md": "---\nsuperseded_by: '[[New]]'\n---\nThe loop is blue and long.",
            "New.md": "By radio.",
            "Map.md": "See [[Old]].",
        }
    )
    assert vault.run("stale").stdout.splitlines() == ["Map.md:1  links to Old: superseded by New"]
    assert [item["kind"] for item in vault.json("stale")["items"]] == ["link"]
    shown = vault.run("search", "blue loop", "--mode", "keyword").stdout
    assert shown.index("New") < shown.index("superseded by New")


def test_each_command_about_notes_says_which_are_outdated(indexed_vault):
    vault = indexed_vault(
        {
            "Old.md": "---\nsuperseded_by: '[[New]]'\n---\nThe loop is blue and long. See [[Map]]. A map.",
            "New.md": "The loop is red. Not as in [[Old]].",
            "Map.md": "See [[Old]] and [[Lease]].",
            "Lease.md": "---\nvalid_until: 2020-01-01\n---\nRent is due. Old.",
            "Ferry.md": "---\nvalid_until: 2020-01-01\n---\nIt leaves at noon.",
        }
    )
    shown = vault.run("read", "Old")
    assert shown.stderr == "vaultseek: Old.md: superseded by New\n"
    assert shown.stdout.startswith("---\nsuperseded_by"), "a pipe gets the text of the note only"
    assert vault.run("read", "New").stderr == ""
    assert vault.json("read", "Old")["currency"]["by"] == [{"path": "New.md", "title": "New"}]
    assert "currency" not in vault.json("read", "New")
    lines = vault.run("links", "Map").stdout.splitlines()
    assert [line.strip() for line in lines if "superseded" in line or "stale" in line] == [
        "superseded by New",  # a link to it
        "stale since 2020-01-02",
        "superseded by New",  # a link from it
    ]
    assert vault.run("links", "Old").stdout.splitlines()[1] == "superseded by New"
    shown = vault.run("related", "Map").stdout
    assert shown.count("superseded by New") == 1
    assert "stale since 2020-01-02" in shown
    assert vault.run("related", "Old").stdout.splitlines()[1] == "superseded by New"
    for command in ("neighbors", "unlinked"):
        assert "superseded by New" in vault.run(command, "Map").stdout
        assert vault.run(command, "Old").stdout.splitlines()[1] == "superseded by New"
    assert "stale since 2020-01-02" in vault.run("orphans").stdout
    assert "superseded by New" in vault.run("why", "loop", "Old").stdout
    assert "stale since 2020-01-02" in vault.run("graph", "path", "Old", "Lease").stdout
    assert "superseded by New" in vault.run("duplicates").stdout
    assert "Old: superseded by New" in vault.run("table", "ext:md").stdout
    assert "superseded by New" in vault.run("inspect", "Old").stdout
    assert "currency" not in json.loads(vault.run("inspect", "New", "--json").stdout)
