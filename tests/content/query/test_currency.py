"""Statements about a note's currency in its properties, at its head and in a section."""

import pytest

from vaultseek.base.currency import Rules
from vaultseek.content.markdown.parse import parse
from vaultseek.content.query.currency import read_currency


def read(text: str):
    return read_currency(parse(text, "Wiring.md"))


def successors(text: str) -> list[str]:
    return [each.target for each in read(text)[1] if each.is_successor]


def replaced(text: str) -> list[str]:
    return [each.target for each in read(text)[1] if not each.is_successor]


@pytest.mark.parametrize(
    "text",
    [
        '---\nsuperseded_by: "[[New]]"\n---\nText',
        "---\nsuperseded_by: New\n---\nText",
        "---\nsupersededBy: [[New]]\n---\nText",
        '---\nSuperseded-By:\n  - "[[New|the new one]]"\n---\nText',
        "---\nreplaced by: '[new](New)'\n---\nText",
        "---\nstatus: superseded by [[New]]\n---\nText",
        "---\nstatus: Superseded by New\n---\nText",
        "superseded_by:: [[New]]\n\nText",
        "# Wiring\n\nMoved to [[New]].",
        "# Wiring\n\n> [!warning] Outdated\n> This note was replaced by [[New#Loop]].\n\nThe loop.",
        "**Superseded by [[New]].** The loop was changed.",
        "⚠️ *This page has moved to [here](New).*\n\nText\n\nText\n\nText\n\nText\n\nText\n\nText",
        "# 7. Wiring\n\n## Context\n\nText\n\n## Status\n\nSuperceded by [8. New](New)\n\n## More\n\nText",
        "- Status: replaced by [[New]]\n- Date: 2026-01-02\n\nText",
        "Diese Notiz wurde durch [[New]] ersetzt.\n\nText",
        "Ersetzt durch [[New]].\n\nText",
        "已移至 [[New]]。",
        "このノートは[[New]]に移動しました。",
        "Cette note est remplacée par [[New]].",
        "Substituída por [[New]].",
        "*This note is obsolete; see [[New]] instead.*",
        "DEPRECATED: use [[New]]\n\nText",
        "> [!warning] Veraltet\n> Diese Notiz ist veraltet, siehe [[New]].",
        "No longer valid, replaced by [[New]].\n\nText",
        "Status: Superseded\n\nSee [[New]].\n\nText",
        "Status: Superseded\nSee [[New]].\n\nText",
        "---\nstatus: superseded\n---\n# Wiring\n\nSee [[New]] for the current version.\n\nText",
        "# Wiring\n\n## Status\n\nDeprecated\n\nSee [[New]].\n\n## More\n\nText",
        "# Wiring\n\nStatus: DEPRECATED (use [[New]])\n\nText",
        "---\nstatus: obsolete, see [[New]]\n---\n",
        "This document has been superseded. See [[New]].\n\nText",
        "Superseded: [[New]]\n\nText",
        "# Wiring\n\nObsolet, ersetzt durch [[New]].\n\nText",
        "> [!caution] Deprecated\n> Use [[New]] instead.\n\nText",
        "HTTP\n\n> **warning** Warning\n> Deprecated: use [[New]] instead.\n\n## Get\n\nText",
        "# Wiring\n\nText\n\n## Superseded by\n\n- [[New]]\n\n## More\n\n[[Other]]",
        "# Wiring (superseded by [[New]])\n\nText",
        "# Wiring (obsolete, see [[New]])\n\nText",
        "このノートは [[New]] に置き換えられました。",
        "Cette note est obsolète, voir [[New]].",
        "Esta nota está obsoleta. Véase [[New]].",
        "Deze notitie is verouderd, zie [[New]].",
        "Questa nota è obsoleta: vedi [[New]].",
        "This note is obsolete. It was replaced by [[New]].",
        "Cette page n'est plus à jour, voir [[New]].",
        "# [DEPRECATED] Wiring\n\nUse [[New]] instead.",
        "# Wiring\n\nSuperseded by:\n\n- [[New]]\n\nText",
        "本页已过时，请参见 [[New]]。",
        "このページは古いです。[[New]] を参照してください。",
    ],
)
def test_a_note_names_its_successor(text):
    assert successors(text) == ["New"]


@pytest.mark.parametrize(
    "sentence",
    [
        "*Superseded on 2025-04-01 by [[New]].*",
        "(superseded by [[New]])",
        "> [!danger] Superseded\n> [[New]]",
        "> [!danger] Read this first\n> This page was replaced by [[New]].",
        "# Pulley – moved to [[New]]",
        "# Pulley [superseded by [[New]]]",
        "I've moved this to [[New]]",
        "We have replaced this page with [[New]].",
        "This procedure has been retired; follow [[New]] now.",
        "This is no longer true. See [[New]].",
        "This note is outdated. The current version is [[New]].",
        "This document is not valid any more, go to [[New]].",
        "This page is deprecated. Instead, use [[New]].",
        "This text is no longer maintained; its successor is [[New]].",
        "These instructions are outdated. See [[New]].",
        "Do not use this any more, use [[New]] instead.",
        "Don’t use this note anymore: see [[New]].",
        "Use [[New]] instead of this note.",
        "See [[New]] instead; this is outdated.",
        "[[New]] replaces this note.",
        "New version: [[New]]",
        "As of 2025-04-01, this note is superseded by [[New]].",
        "Outdated as of March 2025, see [[New]].",
        "Please don't follow this guide any longer; [[New]] replaces it.",
        "Old version, superseded by [[New]].",
        "Kept for history only. The current version is [[New]].",
        "This note was renamed to [[New]].",
        "Inhalt verschoben nach [[New]].",
        "Vervangen door [[New]] op 1 april 2025.",
        "Diese Seite ist umgezogen: [[New]]",
        "Dieses Dokument ist nicht mehr gültig, stattdessen gilt [[New]].",
        "Diese Notiz ist am 1.4.2025 durch [[New]] ersetzt worden.",
        "Diese Anleitung gilt nicht mehr; bitte [[New]] verwenden.",
        "Gilt nicht mehr: jetzt [[New]].",
        "Ersetzt am 1. April 2025 durch [[New]].",
        "Ich habe diese Notiz nach [[New]] verschoben.",
        "Nicht mehr verwenden, stattdessen [[New]].",
        "Note périmée, voir plutôt [[New]].",
        "J'ai déplacé cette note vers [[New]].",
        "Ne plus utiliser, voir [[New]].",
        "N’est plus à jour ; la version actuelle est [[New]].",
        "Esta página se ha movido a [[New]]",
        "Ya no es válido, véase [[New]].",
        "No usar más, véase [[New]].",
        "Sustituida el 1 de abril de 2025 por [[New]].",
        "Esta nota já não é válida, veja [[New]].",
        "Esta página mudou para [[New]].",
        "Questa nota non è più valida, vedere [[New]].",
        "Ho spostato questa nota in [[New]].",
        "Niet meer gebruiken, zie [[New]].",
        "Deze pagina is verhuisd naar [[New]].",
        "已过时,请参阅 [[New]]。",
        "本页面已弃用,请使用 [[New]]。",
        "本文档不再有效，以 [[New]] 为准。",
        "廃止:[[New]] を参照",
        "このメモはもう古いです。[[New]] を使ってください。",
    ],
)
def test_a_note_with_other_text_names_its_successor(sentence):
    title = "" if sentence.startswith("#") else "# Pulley\n\n"
    assert successors(title + sentence + "\n\nText" * 6) == ["New"]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[New](Pump(2026))", "Pump(2026)"),
        ("[New](Pump_(2026).md)", "Pump_(2026).md"),
        ("**[_New_](<_new_ pump.md>)**", "_new_ pump.md"),
        ("*[[_new_]]*", "_new_"),
    ],
)
def test_a_link_with_parentheses_or_signs_of_emphasis_names_the_successor(link, target):
    assert successors(f"DEPRECATED: use {link} instead.\n\nText") == [target]
    assert successors(f"Replaced by {link}.\n\nText") == [target]


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("/Cat%20Flap%202026.md", "/Cat Flap 2026.md"),
        ("../Flaps/Cat", "../Flaps/Cat"),
        ("50%20 off", "50%20 off"),
    ],
)
def test_a_path_without_a_link_names_the_successor(value, target):
    assert successors(f"---\nsuperseded_by: {value}\n---\nText") == [target]


@pytest.mark.parametrize(
    "text",
    [
        "---\nsupersedes: '[[Old]]'\n---\nText",
        "---\nreplaces: [Old]\n---\nText",
        "This note replaces [[Old]].\n\nText",
        "# New\n\n## Status\n\nAccepted\n\nSupersedes:: [[Old]]",
        "Supersedes [[Old]].\n\nText",
        "# New\n\nText\n\n## Supersedes\n\n- [[Old]]\n\n## More\n\n[[Other]]",
        "This page replaces [[Old]] since March.\n\nText",
    ],
)
def test_a_note_names_what_it_replaces(text):
    assert replaced(text) == ["Old"]


@pytest.mark.parametrize(
    "text",
    [
        "# Anna\n\nMoved to [[Lisbon]] in 2019, and works there.\n\nText",
        "# Anna\n\nMoved to [[Lisbon]].\n\n- born in 1980\n- likes figs\n- sings\n- has two cats",
        "# Chair\n\nReplaced by [[Karl]] in 2019, he went on as a guest.\n\nText",
        "---\nsuperseded_by: none\nreplaces: n/a\n---\nText",
        "---\nsuperseded_by:\n---\nText",
        "---\nsupersedes: 12\n---\nText",
        "Text\n\nText\n\nText\n\nText\n\nText\n\nText\n\nThis note was replaced by [[New]].",
        "```\nsuperseded_by:: [[New]]\n```",
        "---\nsupersedes: '[[Old#Loop]]'\n---\nText",
        "由[[林老师]]写的。",
        "See [[New]] instead of the old valve.\n\nText",
        "The deprecated API is described in [[New]].",
        "Deprecated features: see [[New]].",
        "# Phone\n\nText\n\n## Dial\n\nDeprecated: use [[New]] instead.",
        "# Decisions\n\n- Superseded: [[Old]]\n- Accepted: [[New]]",
        "Accepted: [[New]]\n\nSuperseded: [[Old]]",
        "Superseded: [[Old]], [[Older]]\n\nText",
        "This note is obsolete in winter, see [[New]].",
        "This document has been superseded by events. See [[New]].",
        "This note is obsolete. See [[Post-mortem]] for the reasons.",
        "Outdated, see [[Boiler]] for the readings.\n\nText",
        "# Valves\n\n## Brass\n\n### Superseded by\n\n- [[New]]\n\n## Steel\n\nText",
        "# Valve\n\n## Superseded by\n\nThe buyers of [[New]].",
        "# Old valves\n\nSee [[New]].\n\nText",
        "# Vote (see [[New]])\n\nText",
        "---\nstatus: draft, see [[New]]\n---\n",
        "---\nstatus: archived\n---\nSee [[New]].",
        "%%superseded_by:: [[New]]%%\n\nText",
        "%%\nsuperseded_by:: [[New]]\n%%\n\nText",
        "Moved to [[2026-12-01]]",
        "This entry was moved to [[Daily/2026-12-01]].",
        "This note replaces [[Anna]]'s talk at the meeting on Monday",
        "This note replaces [[Anna]] at the meeting.",
        "This recipe was replaced by [[Anna]]’s one.",
        "This note supersedes [[Old#Loop]].",
        "Use [[New]] instead of butter.",
        "Do not use this soap, use [[New]] instead.",
        "I've moved this lamp to [[Shed]].",
        "I moved to [[Lisbon]].",
        "Retired, see [[Pension]].\n\nText",
        "This valve is obsolete, see [[New]].",
        "This section is obsolete, see [[New]].",
        "The current version is [[New]].\n\nText",
        "[[Anna]] replaces the valve.",
        "Latest version: [[App 2]]\n\nText",
        "Ich habe das Regal nach [[Keller]] verschoben.",
        "本文使用 [[New]]。",
    ],
)
def test_what_is_about_something_else_names_no_note(text):
    assert read(text)[1] == ()


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("---\nstale_after: 2026-03-01\n---\n", "2026-03-01"),
        ("---\nvalid_until: 2026-03-01\n---\n", "2026-03-02"),
        ("---\nvalidUntil: 2026-3-1\n---\n", "2026-03-02"),
        ("valid until:: [[2026-03-01]]\n", "2026-03-02"),
        ("---\nstale_after: soon\n---\n", ""),
        ("---\nvalid_until: 1.3.2026\n---\n", "2026-03-02"),
        ("---\nvalid_until: 3.1.2026\n---\n", "2026-01-04"),
        ("---\nvalid_until: 01/03/2026\n---\n", "2026-03-02"),
        ("---\nvalid_until: 2026-03\n---\n", "2026-04-01"),
        ("---\nstale_after: 2026-12\n---\n", "2027-01-01"),
        ("---\nvalid_until: 2025\n---\n", "2026-01-01"),
        ("---\nvalid_until: March 2026\n---\n", "2026-04-01"),
        ("---\nvalid_until: 1. März 2026\n---\n", "2026-03-02"),
        ("---\nvalid_until: 2026-W40\n---\n", "2026-10-05"),
        ("---\nvalid_until: 2026-13\n---\n", ""),
        ("---\nvalid_until: 9999-12-31\n---\n", ""),
        ("---\nvalid_until: Q1 2026\n---\n", "2026-04-01"),
        ("---\nvalid_until: end of 2026\n---\n", "2027-01-01"),
    ],
)
def test_a_note_names_the_day_from_which_on_it_is_stale(text, until):
    assert read(text)[0].until == until


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\nstatus: Deprecated\n---\n", "marked deprecated"),
        ("---\nstatus: [draft, '#obsolete']\n---\n", "marked obsolete"),
        ("---\nstatus: '[[Archived]]'\n---\n", "marked archived"),
        ("---\nstatus: 🗄️ archived\n---\n", "marked archived"),
        ("---\nsuperseded_by: https://example.com/new\n---\n", "marked superseded"),
        ("**Status:** Withdrawn\n\nText", "marked withdrawn"),
        ("Status: DEPRECATED (use New)\n", "marked deprecated"),
        ("---\nstatus: Archived - 2025-03-01\n---\n", "marked archived"),
        ("# Wiring\n\n## Status\n\nDeprecated. Do not use.", "marked deprecated"),
        ("> This note is no longer valid.\n\nText", "marked obsolete"),
        ("Diese Notiz ist veraltet.", "marked obsolete"),
        ("# [OBSOLETE] Wiring\n\nText", "marked obsolete"),
        ("# Wiring (DEPRECATED)\n\nText", "marked deprecated"),
        ("# Wiring (obsolete)\n\nText", None),
        ("---\ndeprecated: true\n---\nText", "marked deprecated"),
        ("---\ndeprecated: false\n---\nText", None),
        ("本页面已弃用。", "marked obsolete"),
        ("This procedure has been retired.", "marked obsolete"),
        ("---\nstatus: done\n---\n", None),
        ("---\nstatus: deprecated (proposed)\n---\n", None),
        ("---\nstatus: obsolete?\n---\n", None),
        ("This note is outdated in parts.", None),
        ("This version is deprecated.", None),
        ("%%status:: deprecated%%\n", None),
        ("Text <!-- \nstatus: deprecated\n-->\n", None),
        ("---\nstatus: 2\n---\n", None),
        ("# ~~Wiring~~\n\nText", "struck out"),
        ("~~The loop is open.~~\n\n- ~~It is blue.~~", "struck out"),
        ("~~The loop is open.~~\n\nIt is closed.", None),
    ],
)
def test_a_note_says_that_it_no_longer_holds(text, reason):
    assert Rules().reason(read(text)[0], "Wiring.md", ()) == reason


def test_the_lines_of_a_paragraph_that_is_struck_out_are_known():
    assert read("# Loop\n\n~~It is\nopen.~~\n\nIt is closed ~~open~~.")[0].struck == ((3, 4),)


def test_rules_name_statuses_folders_and_tags():
    rules = Rules(("Done",), ("Archive/",), ("#archived",))
    done = read("---\nstatus: done\n---\n")[0]
    assert rules.reason(done, "Wiring.md", ()) == "marked done"
    nothing = read("Text")[0]
    assert rules.reason(nothing, "archive/Wiring.md", ()) == "in the folder Archive"
    assert rules.reason(nothing, "Archives.md", ()) is None
    assert rules.reason(nothing, "Wiring.md", ("archived/2025",)) == "tagged #archived/2025"
