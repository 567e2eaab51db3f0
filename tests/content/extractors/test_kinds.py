"""Each kind of file gives a note of the same form: title, sections with a place, links, tags, problems."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_files as made
from vaultseek.base import limits
from vaultseek.base.model import Chunk, Note
from vaultseek.content.extractors.codec import decode, encode
from vaultseek.content.extractors.session import without_secrets
from vaultseek.content.extractors.table import EXTRACTORS
from vaultseek.content.kinds import kind_of
from vaultseek.content.markdown.chunk import chunk


def extracted(path: str, content: str | bytes, **options: bool) -> Note:
    """Return the result of the extractor for the file's kind."""
    kind = kind_of(path)
    assert kind is not None
    data = content.encode() if isinstance(content, str) else content
    return EXTRACTORS[kind].function()(data, path, **options)


def passages(note: Note) -> list[Chunk]:
    return list(chunk(note, lambda text: len(text.split())))


def codes(note: Note) -> list[str]:
    return [problem.code for problem in note.problems]


# -- canvas


def test_a_canvas_is_cards_links_and_groups():
    file = {"id": "f", "type": "file", "file": "Notes/Boiler.md", "subpath": "#Alarm", "x": 500, "y": 40}
    group = {"id": "g", "type": "group", "label": "Pumps", "x": -10, "y": -10, "width": 300, "height": 200}
    note = extracted(
        "Boards/Plan.canvas",
        made.canvas(
            made.card("late", "Below all", y=900),
            made.card("a", "# Float\nThe switch of [[Sump]] #work/pumps"),
            file,
            group,
            {"id": "w", "type": "link", "url": "https://example.org/manual", "x": 800, "y": 0},
            edges=[{"id": "e", "fromNode": "a", "toNode": "f", "label": "explains"}],
        ),
    )
    assert (note.title, note.tags, note.problems) == ("Plan", ("work/pumps",), ())
    assert [(h.level, h.text) for h in note.headings] == [(1, "Pumps"), (2, "Float")]
    links = [(link.target, link.heading, link.alias) for link in note.links]
    assert links == [
        ("Notes/Boiler.md", "Alarm", None),
        ("Sump", None, None),
        ("Notes/Boiler.md", "Alarm", "explains"),
    ]
    found = {each.place: each for each in passages(note)}
    assert set(found) == {"w", "f", "late", "g", "a"}
    assert found["a"].heading_path == ("Pumps", "Float")
    assert "explains → [[Notes/Boiler.md#Alarm]]" in found["a"].text
    assert found["late"].heading_path == ()


def test_a_card_that_is_not_closed_ends_with_itself():
    note = extracted("a.canvas", made.canvas(made.card("a", "```\ncode"), made.card("b", "---\nwords", y=99)))
    assert [(each.place, each.code != ()) for each in passages(note)] == [("a", True), ("b", False)]
    assert extracted("new.canvas", "").problems == ()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "null",
        '{"nodes": 3}',
        '{"nodes": [1, null, {}, {"id": 1}]}',
        "[" * 100_000,
        b"\x00\xff" * 9,
    ],
)
def test_no_canvas_is_too_strange(content):
    note = extracted("a.canvas", content)
    assert note.title == "a"
    assert passages(note) == []


@pytest.mark.slow
def test_thousands_of_nodes_and_groups_in_groups_are_read():
    groups = [
        {
            "id": f"g{n}",
            "type": "group",
            "label": f"G{n}",
            "x": n,
            "y": n,
            "width": 9e3 - n,
            "height": 9e3 - n,
        }
        for n in range(600)
    ]
    cards = [made.card(f"c{n}", f"card {n}", 4000, 4000) for n in range(10_000)]
    note = extracted("big.canvas", made.canvas(*groups, *cards))
    assert codes(note) == ["too_many_nodes", "too_many_groups"]
    assert len(passages(note)) > 9_000


# -- base

BASE = """
filters:
  and:
    - file.hasTag("book")
    - file.inFolder("Reading/Shelf")
    - or: ['status != "done"', 'note["my rating"] > 3']
formulas:
  pace: (pages / days).toFixed(1)
properties:
  note.status:
    displayName: State
views:
  - type: table
    name: To read
    filters: 'author == link("Ann Lee") && file.hasLink("Textbook")'
    order: [file.name, note.author, formula.pace]
  - type: cards
    name: Covers
"""


def test_a_base_is_its_names_views_and_mentions():
    note = extracted("Books.base", BASE)
    assert (note.title, note.tags, note.problems) == ("Books", (), ())
    assert [link.target for link in note.links] == ["Ann Lee", "Textbook"]
    text = "\n".join(note.lines)
    for words in ("tags: #book", "folders: Reading/Shelf", "my rating", "property note.status: State"):
        assert words in text
    assert [each.place for each in passages(note)] == [None, "To read", "Covers"]
    assert codes(extracted("a.base", "views: [")) == codes(extracted("b.base", "- 1")) == ["damaged"]
    assert extracted("new.base", "").problems == ()


@pytest.mark.parametrize("order", ["5", "file.name", "{a: b}"])
def test_an_order_of_columns_that_is_no_list_costs_only_itself(order):
    lines = extracted("a.base", f"views:\n  - name: Shelf\n    order: {order}\n  - name: Last\n").lines
    assert [line for line in lines if line] == ["# Shelf", "view: table", "# Last", "view: table"]


# -- Excalidraw


def test_a_drawing_in_markdown_is_its_texts_without_the_drawing():
    note = extracted("Pit.excalidraw.md", made.DRAWING)
    assert (note.title, note.tags, [link.target for link in note.links]) == (
        "Pit",
        ("excalidraw",),
        ["Boiler"],
    )
    text = "\n".join(note.lines)
    assert "Sump pit" in text
    assert "words of the note" in text
    assert "N4KAk" not in text
    assert note.lines[note.blocks[0].line - 1] == "Sump pit ^a1b2"
    places = [(each.place, each.text.split("\n")[0]) for each in passages(note)]
    assert places == [
        (None, "A note of its own."),
        ("^a1b2", "Sump pit"),
        ("^c3d4", "Pump of the Boiler"),
    ]
    assert note.headings == ()


def test_a_drawing_in_json_is_its_texts_and_frames():
    elements = [
        {"id": "f", "type": "frame", "name": "Cellar"},
        {"id": "t", "type": "text", "text": "Sump pit", "frameId": "f"},
        {"id": "r", "type": "rectangle", "link": "[[Boiler#Alarm]]"},
        {"id": "d", "type": "text", "text": "gone", "isDeleted": True},
    ]
    note = extracted("Pit.excalidraw", json.dumps({"type": "excalidraw", "elements": elements}))
    assert [(each.place, each.heading_path) for each in passages(note)] == [
        ("r", ()),
        ("f", ("Cellar",)),
        ("t", ("Cellar",)),
    ]
    assert [(link.target, link.heading) for link in note.links] == [("Boiler", "Alarm")]
    assert "gone" not in "\n".join(note.lines)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.canvas", made.canvas({"id": "f", "type": "file", "file": "My  note.md"})),
        ("a.base", """filters: 'file.hasLink("My  note.md")'"""),
        ("a.excalidraw", '{"elements": [{"id": "r", "type": "rectangle", "link": "[[My  note.md]]"}]}'),
    ],
)
def test_spaces_in_the_name_of_a_note_are_kept(path, content):
    note = extracted(path, content)
    assert [link.target for link in note.links] == ["My  note.md"]
    assert "[[My  note.md]]" in note.lines


# -- text, Org, HTML


def test_plain_text_has_no_markdown():
    note = extracted("notes.txt", "first\n\n# no heading [[no link]] #notag\n")
    assert (note.headings, note.links, note.tags) == ((), (), ())
    assert [each.start_line for each in passages(note)] == [1]
    assert codes(extracted("b.txt", bytes(range(256)) * 9)) == ["binary"]


def test_an_org_file_has_headings_tags_links_and_tasks():
    text = (
        "#+TITLE: Boiler log\n#+FILETAGS: :work:\nSee [[file:pump.org::*Alarm][it]] and [[https://x.org]].\n"
        "* TODO Replace seal :urgent:\n** DONE Order it\n#+begin_src sh\nmake\n#+end_src\n* Rest\nwords\n"
    )
    note = extracted("log.org", text)
    assert (note.title, set(note.tags)) == ("Boiler log", {"work", "urgent"})
    assert [(h.level, h.text, h.line) for h in note.headings] == [
        (1, "Replace seal", 4),
        (2, "Order it", 5),
        (1, "Rest", 9),
    ]
    assert [(link.target, link.heading) for link in note.links] == [("pump.org", "Alarm")]
    assert [(task.mark, task.line) for task in note.tasks] == [(" ", 4), ("x", 5)]
    assert [block.lang for block in note.code_blocks] == ["sh"]
    assert note.lines == tuple(text.rstrip("\n").split("\n"))


def test_brackets_in_code_and_verbatim_text_of_an_org_file_are_no_links():
    text = (
        "#+begin_src bash\nif [[ -f foo ]]; then\n#+end_src\n=[[x]]=, (~[[ $y = n ]]~) and\n"
        "a=b [[one]] c=d [[two.org][=three=]]\n"
    )
    assert [link.target for link in extracted("a.org", text).links] == ["one", "two.org"]


def test_more_links_than_are_kept_are_a_problem_of_other_files_too():
    links = "".join(f"[[note{n}]] " for n in range(limits.NOTE_LINKS + 1))
    cards = [made.card(f"c{n}", "[[one]] [[two]] [[three]]", 0, n) for n in range(limits.NOTE_LINKS // 2)]
    for note in (extracted("star.org", links), extracted("star.canvas", made.canvas(*cards))):
        assert len(note.links) == limits.NOTE_LINKS
        assert "too_many_links" in codes(note)


def test_a_page_is_what_there_is_to_read():
    page = (
        "<html><head><title>Boiler &amp; pump</title>"
        "<meta name=keywords content='heating, float switch'></head>"
        "<body><nav><a href=/x>menu</a></nav><h1>Care</h1><p>A <a href='pump.html'>pump</a> page.</p>"
        "<script>alert(1)</script><footer>imprint</footer></body></html>"
    )
    note = extracted("p.html", page)
    assert (note.title, note.tags) == ("Boiler & pump", ("heating", "float-switch"))
    assert [(h.level, h.text) for h in note.headings] == [(1, "Care")]
    assert [link.target for link in note.links] == ["pump.html"]
    text = "\n".join(note.lines)
    assert not any(word in text for word in ("menu", "alert", "imprint"))
    latin = "<meta charset=iso-8859-1><p>Käse</p>".encode("latin-1")
    assert "Käse" in "\n".join(extracted("l.html", latin).lines)


def test_a_page_is_read_as_browsers_read_it():
    page = "<table><tr><th>pump<th>float<tr><td>1<td>2</table><ul><li>first<li>second</ul><p>a<b>b</p>"
    lines = extracted("p.html", page).lines
    assert {"| pump | float |", "| 1 | 2 |", "- first", "- second"} <= set(lines)


def test_a_page_that_is_nested_too_deeply_is_known_by_its_name():
    for element in ("<div>", "<ul><li>", "<center>"):
        note = extracted("p.html", element * 2_000 + "x")
        assert (note.lines, codes(note)) == ((), ["too_complex"])
    for page in ("<div>" * 300, "<div>a</div>" * 2_000, "<p>a<li>b" * 2_000):
        note = extracted("p.html", f"{page}<p>pump")
        assert (note.lines[-2].strip(), codes(note)) == ("pump", [])


def test_marks_of_notes_mean_nothing_in_a_page():
    page = "<hr>before the rule<hr><p>color #fff, issue #bug [[edit]] and <a href='p.html'>a page</a></p>"
    note = extracted("p.html", page)
    assert (note.tags, [link.target for link in note.links]) == ((), ["p.html"])
    assert "before the rule" in note.lines


# -- PDF


def test_a_pdf_is_its_pages_title_and_outline():
    data = made.pdf(
        "The float switch.",
        "Alarm E-4107.",
        title="Care of boilers",
        outline=[(0, "Start", 1), (1, "Alarm", 2)],
    )
    note = extracted("manual.pdf", data)
    assert (note.title, note.problems) == ("Care of boilers", ())
    assert [(h.level, h.text) for h in note.headings] == [(1, "Start"), (2, "Alarm")]
    assert [(each.place, each.heading_path) for each in passages(note)] == [
        ("page=1", ("Start",)),
        ("page=2", ("Start", "Alarm")),
    ]
    assert "E-4107" in passages(note)[1].text
    assert extracted("manual.pdf", made.pdf("x", title="Microsoft Word - a.doc")).title == "manual"


def test_a_heading_of_the_outline_takes_the_place_of_no_other_line():
    text = "We thank all for the data\nThis is a short introduction\nA\nNotes\n1.2 Pumps\nSeals"
    outline = [(0, "A", 1), (0, "Introduction", 1), (0, "Pumps", 1)]
    note = extracted("manual.pdf", made.pdf(text, outline=outline, write_headings=False))
    assert [line for line in note.lines if line] == [
        "# Introduction",
        "We thank all for the data",
        "This is a short introduction",
        "# A",
        "Notes",
        "# 1.2 Pumps",
        "Seals",
    ]


def test_the_problem_of_a_pdf_has_a_name():
    data = made.pdf("The float switch. " * 50)
    assert codes(extracted("a.pdf", made.pdf("secret", password="x"))) == ["locked"]
    assert codes(extracted("a.pdf", data[: len(data) // 2])) == ["damaged"]
    assert codes(extracted("a.pdf", b"no PDF")) == codes(extracted("a.pdf", b"")) == ["damaged"]
    assert codes(extracted("a.pdf", made.scan("float"))) == ["no_text"]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ocr_reads_pictures_and_scans():
    picture = extracted("s.png", made.picture("Replace the float switch"))
    assert "float switch" in "\n".join(picture.lines)
    scan = extracted("s.pdf", made.scan("Replace the float switch"), ocr=True)
    assert [each.place for each in passages(scan)] == ["page=1"]
    assert "float switch" in "\n".join(scan.lines)
    assert codes(extracted("bad.png", b"no picture")) == ["damaged"]


# -- all


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["a", "g", "text", "file"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["id", "type", "nodes", "edges", "x", "text", "file", "label", "fromNode", "elements"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(ANY_JSON)
def test_any_json_gives_a_note(value):
    for path in ("a.canvas", "a.excalidraw", "a.base"):
        assert_sound(extracted(path, json.dumps(value)))


@given(st.sampled_from(["a.base", "a.org", "a.html", "a.txt"]), st.text(string.printable + "é\u2028\ud7ff"))
def test_any_text_gives_a_note(path, text):
    assert_sound(extracted(path, text))


def assert_sound(note: Note) -> None:
    """Check that a note survives a pipe unchanged, and that its passages contain each of its words once."""
    assert decode(encode(note)) == note
    found = passages(note)
    assert "".join("".join(each.text for each in found).split()) == "".join("".join(note.lines).split())
    assert len({each.id for each in found}) == len(found)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Café crème, s'il vous plaît", "latin-1"),
        ("It’s a “quoted” pump – 5€", "cp1252"),
        ("Wymień pompę i sprawdź zawór, bo woda może być gorąca", "cp1250"),
        ("Насос меняют каждые шесть месяцев", "cp1251"),
        ("Насос меняют каждые шесть месяцев", "koi8-r"),
        ("Η αντλία αντικαθίσταται κάθε έξι μήνες", "cp1253"),
        ("ポンプの交換は六か月ごとに行います", "shift_jis"),
        ("ポンプの交換は六か月ごとに行います", "euc-jp"),
        ("这是一个测试文件，水泵的密封每六个月检查一次。", "gbk"),
        ("펌프를 교체합니다", "euc-kr"),
    ],
)
def test_texts_of_before_unicode_are_read_in_the_likeliest_encoding(text, encoding):
    note = extracted("old.txt", text.encode(encoding))
    assert (note.lines, codes(note)) == ((text,), ["bad_encoding"])
    assert extracted("old.org", f"* {text}".encode(encoding)).headings[0].text == text
    assert text in "\n".join(extracted("old.html", f"<p>{text}</p>".encode(encoding)).lines)


def test_a_broken_byte_in_unicode_is_only_that():
    note = extracted("a.txt", "Größe und Übermaß".encode() + b"\xff")
    assert note.lines == ("Größe und Übermaß\ufffd",)


def test_check_boxes_and_keywords_of_an_org_file():
    text = (
        "#+AUTHOR: Ana\n#+DATE: <2026-01-31 Sat>\n* TODO Heading\n- [ ] open\n  * [X] done\n1. [-] part\n"
        "* [ ] no box\n#+begin_src org\n- [ ] code\n#+end_src\n"
    )
    note = extracted("a.org", text)
    assert [(task.mark, task.text, task.line) for task in note.tasks] == [
        (" ", "Heading", 3),
        (" ", "open", 4),
        ("x", "done", 5),
        (" ", "part", 6),
    ]
    assert note.frontmatter == {"author": "Ana", "date": "2026-01-31"}


def test_the_words_that_stand_for_an_image_are_text_and_its_address_is_not():
    page = "<p>Before <img src='data:image/png;base64,QUJD' alt='a float switch'><img src='x.png'> after</p>"
    text = "\n".join(extracted("a.html", page).lines)
    assert "a float switch" in text
    assert "QUJD" not in text
    assert "x.png" not in text


def test_a_base_of_thousands_of_keys_is_read_and_one_that_is_too_large_says_how_large():
    formulas = "".join(f"  f{number}: 'price * {number}'\n" for number in range(3_000))
    note = extracted("a.base", f"formulas:\n{formulas}views:\n  - name: Last view\n")
    assert (note.problems, note.headings[0].text) == ((), "Last view")
    assert "1 MiB" in EXTRACTORS["base"].too_large().message


# -- session


def session(*entries: dict[str, object]) -> str:
    return "\n".join(map(json.dumps, entries))


def claude(speaker: str, content: object, **more: object) -> dict[str, object]:
    head = {"type": speaker, "timestamp": "2026-03-04T10:22:07.079Z", "cwd": "/home/ana/sump"}
    return {**head, "message": {"role": speaker, "content": content}, **more}


def codex(role: str, *texts: str) -> dict[str, object]:
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text} for text in texts]
    payload = {"type": "message", "role": role, "content": content}
    return {"timestamp": "2026-03-05T08:00:00.000Z", "type": "response_item", "payload": payload}


def test_a_session_of_claude_code_is_its_turns_with_time_and_project():
    note = extracted(
        "a/1.jsonl",
        session(
            {"type": "summary", "summary": "Float switch"},
            claude("user", "Why does the pump\nnot stop? <system-reminder>Be kind.</system-reminder>"),
            claude(
                "assistant",
                [
                    {"type": "thinking", "thinking": "hmm"},
                    {"type": "text", "text": "The switch is stuck."},
                    {"type": "tool_use", "name": "Bash", "input": {"command": "cat log"}},
                ],
            ),
            claude("user", [{"type": "tool_result", "content": "a long output"}]),
            claude("user", "A caveat", isMeta=True),
        )
        + '\n{"type": "assis',
    )
    assert note.title == "Float switch"
    assert note.frontmatter == {"date": "2026-03-04T10:22:07.079Z", "project": "/home/ana/sump"}
    assert [(each.name, note.lines[each.line - 1]) for each in note.places] == [
        ("turn=1", "# User 2026-03-04 10:22 UTC"),
        ("turn=2", "# Agent 2026-03-04 10:22 UTC"),
    ]
    text = "\n".join(note.lines)
    assert "pump\nnot stop?" in text
    assert not any(
        left in text for left in ("reminder", "Be kind", "hmm", "cat log", "long output", "caveat")
    )


def test_a_session_of_codex_is_its_turns():
    note = extracted(
        "rollout-1.jsonl",
        session(
            {"type": "session_meta", "payload": {"cwd": "/home/ana/well"}},
            codex("user", "<environment_context><cwd>/x</cwd></environment_context>"),
            codex("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
            codex(
                "user",
                "# Context from my IDE setup:\n\n## Tabs:\n- a.py\n\n## My request for Codex:\nDraw the well",
            ),
            {
                "type": "event_msg",
                "payload": {"type": "user_message", "role": "user", "content": "Draw the well"},
            },
            {"type": "response_item", "payload": {"type": "function_call_output", "output": "drawn"}},
            codex("assistant", "Done."),
            codex("developer", "Rules"),
        ),
    )
    assert note.title == "Draw the well"
    assert note.frontmatter == {"date": "2026-03-05T08:00:00.000Z", "project": "/home/ana/well"}
    assert [line for line in note.lines if line and not line.startswith("#")] == ["Draw the well", "Done."]


PLANTED = [
    "sk-" + "ant-api03-abcdefghijklmnop",
    "sk_" + "live_51Habcdefghijklmnopqrs",
    "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "github_" + "pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb" + "-123456789012-abcdefGHIJ",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "hunter2secret",
    "p4ssphrase-of-ana",
    "c3VwZXItc2VjcmV0LXZhbHVl",
    "ana:s3cr3tpw",
    "MIIEowIBAAKCAQEAplanted",
]


def test_no_planted_secret_is_in_the_text_of_a_session():
    said = f"""Use {PLANTED[0]} and {PLANTED[1]}, or "{PLANTED[2]}" ({PLANTED[3]}).
    export AWS_ACCESS_KEY_ID={PLANTED[4]}; key={PLANTED[5]} {PLANTED[6]} {PLANTED[7]}
    cookie {PLANTED[8]}
    password: {PLANTED[9]} and the passphrase is {PLANTED[10]}
    curl -H 'Authorization: Bearer {PLANTED[11]}' https://{PLANTED[12]}@example.org/x
    -----BEGIN RSA PRIVATE KEY-----
    {PLANTED[13]}
    -----END RSA PRIVATE KEY-----
    The pump runs."""
    note = extracted("s.jsonl", session(claude("user", said), claude("assistant", said)))
    text = "\n".join([note.title, *note.lines])
    assert [secret for secret in PLANTED if secret in text] == []
    assert text.count("The pump runs.") == 2


@pytest.mark.parametrize(
    "text",
    [
        "mysql://bo:p@Xq7@db",
        "redis://:s3cretpw@db",
        "SECRET_KEY=django-insecure-9x8y7",
        "**password**: blue7horse",
        "| password | blue7horse |",
        "the API key is a1b2c3d4",
        "mysql --password blue7horse",
        "Passwort: blau7pferd",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQdGBFabc",
        "see AbCdEf0123456789GhIjKlMnOp for it",
        "https://hooks.slack.com/services/T0/B0/Zq129c",
    ],
)
def test_a_secret_is_replaced(text: str):
    assert "[secret]" in without_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens = 2000",
        "The password is required",
        "tokenize(token: Token) -> None",
        "git checkout sk-feature-branch-cleanup-123",
        "the basic configuration-of-the-service",
        "https://example.org/a/Path/with-words/and/2026/numbers.html",
        "see src/vaultseek/core/search/context.py and 3f2a9c1d0e4b5a6978",
    ],
)
def test_ordinary_talk_is_left_as_it_is(text: str):
    assert without_secrets(text) == text


def test_an_odd_line_costs_only_itself():
    odd = [{"type": ["user"]}, {"type": {"a": 1}}, claude("user", [{"type": ["text"], "text": "x"}])]
    note = extracted("s.jsonl", session(*odd, claude("user", "The pump runs.")))
    assert "The pump runs." in note.lines


@pytest.mark.parametrize("content", ["", "{}", "no json", '{"type": "user"}', "[1]", '{"payload": 3}'])
def test_what_is_no_session_is_found_by_name(content: str):
    note = extracted("data.jsonl", content)
    assert (note.title, codes(note)) == ("data", ["damaged"])


def test_a_heading_of_an_org_file_is_shown_without_its_markup():
    (heading,) = extracted("doc.org", "* A *bold* [[https://x.org][heading]]\n").headings
    assert (heading.text, heading.shown) == ("A *bold* heading", "A bold heading")
