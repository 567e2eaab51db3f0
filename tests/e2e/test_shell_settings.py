"""Search settings from the environment are sent with each request; errors name the variable."""


def test_a_wrong_variable_is_named_although_a_daemon_runs(daemon, vault):
    root = vault({"a.md": "# Granite"})
    assert daemon.paths("granite", "--wait", "--vault", str(root)) == ["a.md"]
    wrong = {"VAULTSEEK_SEARCH__LIMIT": "many"}
    said = (
        "vaultseek: environment variable VAULTSEEK_SEARCH__LIMIT: search.limit: "
        'expected a whole number from 1 to 200, found "many"\n'
    )
    for command in (["search", "granite"], ["why", "granite", "a"], ["context", "granite"]):
        ended = daemon.run(*command, "--vault", str(root), env=wrong)
        assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)
    unknown = daemon.run("search", "granite", "--vault", str(root), env={"VAULTSEEK_SEARCH__LIMT": "3"})
    assert "VAULTSEEK_SEARCH__LIMT: search.limt: unknown key, expected search.limit?" in unknown.stderr


def test_a_section_in_one_variable_counts_less_than_its_keys(daemon, vault):
    root = vault({f"{number}.md": "# Granite" for number in range(5)})
    here = ["granite", "--vault", str(root)]
    assert len(daemon.paths("--wait", *here)) == 5
    section = {"VAULTSEEK_SEARCH": '{"limit": 3, "recency": {"enabled": true}}'}
    assert len(daemon.paths(*here, env=section)) == 3
    assert len(daemon.paths(*here, env=section | {"VAULTSEEK_SEARCH__LIMIT": "2"})) == 2
    wrong = daemon.run("search", *here, env={"VAULTSEEK_SEARCH": "three"})
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("vaultseek: environment variable VAULTSEEK_SEARCH: ")
