"""Related notes, and their minimum score."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.notes.related import related
from vaultseek.semantic.models.choice import choose_models

NOTES = {
    "Boiler.md": "# Boiler\n\nThe heating keeps losing pressure; I refill water every week.",
    "Radiators.md": "# Radiators\n\nThe radiator in the hall leaks at the valve, so the heating loses water.",
    "Bread.md": "# Bread\n\nFlour, salt, water and a long night. See [[Oven]].",
    "Oven.md": "# Oven\n\nThe stone is hot after forty minutes.",
    "Mozart.md": "# Mozart\n\nThe clarinet concerto was written for Anton Stadler.",
}


@pytest.mark.model
async def test_a_note_that_has_nothing_to_do_with_it_is_not_related(vault, tmp_path):
    options = VaultOptions("notes", vault(NOTES))
    async with indexed_vault(options, tmp_path / "index", choose_models("bundled", "off")) as open_vault:
        ledger = open_vault.ledger

        async def paths(path: str) -> list[str]:
            answer = await related(ledger.notes.by_path(path), open_vault, 10)
            return [result["path"] for result in answer["results"]]

        assert await paths("Boiler.md") == ["Radiators.md"]
        assert (await paths("Bread.md"))[0] == "Oven.md"
        assert await paths("Mozart.md") == []


def a_day(text: str) -> str:
    return (
        "# Daily note\n\n## Tasks\n- [ ] Check the inbox\n\n## What happened\n"
        f"{text}\n\n## Gratitude\nToday I am grateful for\n\n## Tomorrow\nPlan the day, water the plants\n"
    )


@pytest.mark.model
async def test_a_note_made_from_a_template_is_related_by_what_is_its_own(vault, tmp_path):
    others = (
        "Baked bread.",
        "Called the bank about the mortgage.",
        "Two fillings at the dentist's.",
        "Read a novel.",
    )
    days = {f"2026-01-{day:02}.md": a_day(others[day % 4]) for day in range(1, 20)}
    days["2026-01-20.md"] = a_day("Up to the slopes early: fresh powder, empty lifts, my bindings held well.")
    topics = {
        "Skiing.md": "# Skiing\n\nSkis and bindings need waxing before winter. Powder needs wide skis.\n",
        "Bread.md": "# Bread\n\nSourdough needs flour and patience.\n",
    }
    options = VaultOptions("notes", vault({**days, **topics}))
    async with indexed_vault(options, tmp_path / "index", choose_models("bundled", "off")) as open_vault:
        answer = await related(open_vault.ledger.notes.by_path("2026-01-20.md"), open_vault, 10)
    assert answer["results"][0]["path"] == "Skiing.md"


EVENTS = (
    "Baked two loaves of bread, the crust was pale.",
    "Called the bank about the mortgage rate.",
    "Two fillings at the dentist's.",
    "Read a novel by the fire until midnight.",
    "The car failed its inspection because of the brakes.",
    "Planted garlic and onions behind the shed.",
    "Played chess in the park and lost twice.",
)
SKI = "Up to the slopes early: fresh powder snow, empty lifts, and my bindings held well."
TOPICS = {
    "Skiing.md": "# Skiing\n\nBindings need wax. Powder snow needs wide skis, lifts open at eight.\n",
    "Bread.md": "# Bread\n\nSourdough needs flour, patience and a hot oven for the crust.\n",
    "Mortgage.md": "# Mortgage\n\nThe bank offers a fixed rate for ten years.\n",
    "Journal.md": "# Journal\n\nHow I keep daily notes: sleep, steps, weather, gratitude and tasks.\n",
}


def measured_day(number: int, day: date, event: str) -> str:
    weather, done = ("sunny", "rain", "fog")[number % 3], " x"[number % 2]
    return (
        f"---\ntags: [daily]\nmood: {('good', 'tired', 'great')[number % 3]}\n---\n"
        f"<< [[{day - timedelta(1)}]] | [[{day + timedelta(1)}]] >>\n\n# {day:%A}, {day:%d %B %Y}\n\n"
        f"## Metrics\nSleep: {5 + number % 4}h\nSteps: {2 + number % 9},{100 + 7 * number}\n"
        f"Weather: {weather} {number % 20}°\nenergy:: {number % 5}\n\n| Habit | Done |\n|---|---|\n"
        f"| Water | {number % 3} l |\n\n## Tasks\n- [{done}] Meditate\n\n## What happened\n{event}\n\n"
        "## Gratitude\nToday I am grateful for\n\n## Tomorrow\nPlan the day, water the plants\n"
    )


def measured_days() -> dict[str, str]:
    days = {}
    for number in range(40):
        day = date(2026, 1, 1) + timedelta(number)
        event = SKI if number == 25 else EVENTS[number % len(EVENTS)]
        days[f"{day}.md"] = measured_day(number, day, event)
    return days | TOPICS


def a_meeting(number: int, subject: str) -> str:
    people = ("Ann Smith", "Bob Jones", "Carla Ruiz", "Dan Wu")
    attendees = [people[number % 4], people[(number + 1 + number // 4 % 3) % 4]]
    return (
        f'---\nattendees: ["[[{attendees[0]}]]", "[[{attendees[1]}]]"]\nproject: "[[Apollo]]"\n'
        f"status: {('open', 'done')[number % 2]}\n---\n# Meeting {number}\n\n## Agenda\n{subject}\n\n"
        f"## Decisions\n- Decided to {('wait', 'go on')[number % 2]}.\n\n## Next\n- [ ] Send the minutes\n"
    )


def meetings() -> dict[str, str]:
    subjects = ("Payroll moves to a new provider.", "The fire doors stick.", "Printers are dear.")
    notes = {f"Meeting {number}.md": a_meeting(number, subjects[number % 3]) for number in range(20)}
    notes["Meeting 7.md"] = a_meeting(7, "Bees on the roof: two hives, swarms, and who takes the honey.")
    people = {f"{name}.md": f"# {name}\n" for name in ("Ann Smith", "Bob Jones", "Carla Ruiz", "Dan Wu")}
    bees = "# Beekeeping\n\nHives need sun and a keeper who looks for swarms. Honey is taken in July.\n"
    return {**notes, **people, "Apollo.md": "# Apollo\n\nThe new office.\n", "Beekeeping.md": bees}


@pytest.mark.parametrize("model", ["hashing", "off"])
@pytest.mark.parametrize(
    ("notes", "path", "subject"),
    [(measured_days, "2026-01-26.md", "Skiing.md"), (meetings, "Meeting 7.md", "Beekeeping.md")],
)
async def test_what_the_notes_of_a_kind_share_does_not_decide_what_is_related(
    notes: Callable[[], dict[str, str]], path: str, subject: str, model: str, vault, tmp_path, monkeypatch
):
    options, models = (
        VaultOptions("notes", vault(notes())),
        choose_models("hashing", "off"),
    )
    async with indexed_vault(options, tmp_path / "index", models) as open_vault:
        if model == "off":
            monkeypatch.setattr(open_vault.spaces, "reason", lambda: Reason("off", "switched off"))
        answer = await related(open_vault.ledger.notes.by_path(path), open_vault, 10)
    assert subject in [result["path"] for result in answer["results"]][:3]


async def test_a_link_that_tells_notes_of_a_kind_apart_stays_related(vault, tmp_path):
    parts = {
        "Beekeeping": ("Smoker", "Veil", "Frames", "Hive tool"),
        "Sailing": ("Jib", "Keel", "Anchor", "Rudder"),
    }
    notes = {
        f"{part}.md": f'---\nup: "[[{whole}]]"\n---\n# {part}\n\nThe {part.lower()}, number {number}.\n'
        for whole, names in parts.items()
        for number, part in enumerate(names)
    }
    options = VaultOptions("notes", vault(notes | {f"{whole}.md": f"# {whole}\n" for whole in parts}))
    async with indexed_vault(options, tmp_path / "index", choose_models("hashing", "off")) as open_vault:
        answer = await related(open_vault.ledger.notes.by_path("Smoker.md"), open_vault, 10)
    assert "Beekeeping.md" in [result["path"] for result in answer["results"]][:3]


PEOPLE = ("Ann Smith", "Bob Jones", "Carla Ruiz", "Dan Wu", "Eve Hall", "Finn Berg")
MINUTES = "We went through the open points and agreed to meet again next week."
SUBJECTS = {
    "Beekeeping": ("Hives need sun. A keeper looks for swarms.", "Who looks for swarms on the flat roof?"),
    "Payroll": ("The provider pays salaries on the 25th.", "The provider wants changes of salaries earlier."),
    "Fire doors": ("Each door has a closer.", "The closer upstairs is broken."),
    "Canteen": ("Soup every day, fish on Friday.", "People want soup without meat."),
    "Solar panels": ("The inverter is in the cellar.", "The inverter shows an error."),
    "Mortgage": ("The notary needs both signatures.", "The notary asks for other signatures."),
    "Glaciers": ("Crevasses open on the tongue.", "A talk about crevasses."),
    "Chess": ("Rook endings are worth study.", "A tournament with rook endings."),
    "Boiler": ("The valve is behind the vessel.", "Water drips from the valve."),
    "Violin": ("The bow needs rosin.", "A concert, if somebody has rosin."),
}


def minutes() -> dict[str, str]:
    notes = {f"{name}.md": f"# {name}\n\n{text}\n" for name, (text, _) in SUBJECTS.items()}
    notes |= {f"{name}.md": f"# {name}\n\nA colleague.\n" for name in PEOPLE}
    notes["Log.md"] = "# Log\n\nMinutes of all meetings.\n"
    for number, (name, (_, said)) in enumerate(SUBJECTS.items()):
        people = PEOPLE[number % 6], PEOPLE[(number + 1 + number // 6) % 6]
        notes[f"Minutes of {name[0]}{number}.md"] = (
            f'---\nup: "[[Log]]"\npeople: ["[[{people[0]}]]", "[[{people[1]}]]"]\n---\n{MINUTES} {said}\n'
        )
    return notes


async def first_three(notes: dict[str, str], paths: list[str], vault, folder, by_word: bool = False):
    options = VaultOptions("notes", vault(notes))
    async with indexed_vault(options, folder / "index", choose_models("hashing", "off")) as open_vault:
        if by_word:
            open_vault.spaces.reason = lambda: Reason("off", "switched off")
        rows = [open_vault.ledger.notes.by_path(path) for path in paths]
        answers = {row.path: await related(row, open_vault, 3) for row in rows}
    return {path: [result["path"] for result in each["results"]] for path, each in answers.items()}


async def test_a_shared_sentence_and_shared_people_do_not_hide_the_subject_nor_the_parent(vault, tmp_path):
    notes = minutes()
    wanted = {f"Minutes of {name[0]}{number}.md": name for number, name in enumerate(SUBJECTS)}
    found = await first_three(notes, list(wanted), vault, tmp_path)
    assert [path for path, name in wanted.items() if f"{name}.md" not in found[path]] == []
    assert [path for path in wanted if "Log.md" not in found[path]] == []


async def test_the_words_of_a_phrase_count_about_once(vault, tmp_path):
    subjects = ("tomatoes", "crevasses", "the eruption", "rook endings", "the vixen")
    notes = {f"Note {i}.md": f"Came across {each} while reading late.\n" for i, each in enumerate(subjects)}
    notes |= {f"{name}.md": f"{text}\n" for name, (text, _) in SUBJECTS.items()}
    found = await first_three(notes, ["Note 3.md"], vault, tmp_path, by_word=True)
    assert found["Note 3.md"][0] == "Chess.md"
