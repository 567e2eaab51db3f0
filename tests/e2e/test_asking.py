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
