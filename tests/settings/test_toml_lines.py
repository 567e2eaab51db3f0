"""The lines of keys in a configuration, compared with parsing it up to each of its lines."""

import tomllib

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.settings.toml import lines_of

TEXT = """\
# vaultseek
[search]  # what
nothing_below = 0.04
weights = [
  1, # "one"
  2,
]

[[vaults]]
name = "a"
path = '''
[not.a.table]
name = "x"
'''
index.kinds = ["pdf"]
[vaults.more]
"x.y" = { z = 1, w = [ { q = 2 } ] }
[[vaults]]
name = "b"
[ "a]b" . c ]
d = 1
"""


def test_each_key_has_its_line():
    expected = {
        ("search", "nothing_below"): 3,
        ("search", "weights", 1): 4,
        ("vaults", 0, "path"): 11,
        ("vaults", 0, "index", "kinds", 0): 15,
        ("vaults", 0, "more", "x.y", "w", 0, "q"): 17,
        ("vaults", 1, "name"): 19,
        ("a]b", "c", "d"): 21,
    }
    assert lines_of(TEXT, expected) == expected


def test_a_key_that_is_missing_has_the_line_of_its_table():
    asked = [("search", "limit"), ("vaults", 1, "path"), ("nowhere", "at all")]
    assert lines_of(TEXT, asked) == {asked[0]: 2, asked[1]: 18}


VALUES = st.recursive(
    st.integers() | st.booleans() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5))
def test_lines_are_those_of_the_parser(content):
    text = tomlkit.dumps(content)
    lines = text.split("\n")
    first = {}
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:end]))
        except ValueError:
            continue
        for location in locations(data):
            first.setdefault(location, end)
    asked = [*locations(tomllib.loads(text))]
    told = lines_of(text, asked)
    for location in asked:
        # The parser reports a value of several lines at its last line.
        assert told[location] <= first[location]
        assert told == {**told, **lines_of(text, [location])}


def locations(value, above=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        yield (*above, part)
        yield from locations(inner, (*above, part))
