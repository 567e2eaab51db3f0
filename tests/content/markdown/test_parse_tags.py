"""Where tags begin and end."""

import pytest

from vaultseek.content.markdown.parse import parse


def tags(text: str) -> list[str]:
    return list(parse(text, "note.md").tags)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # characters of a tag
        ("go #now", ["now"]),
        ("#alpha #beta/gamma_1-x", ["alpha", "beta/gamma_1-x"]),
        ("#2031 #2031a #20-31", ["2031a", "20-31"]),
        ("#²³ #٣٤", ["²³", "٣٤"]),
        ("#ärger #日記 #🌊wave", ["ärger", "日記", "🌊wave"]),
        ("#done—really #ok… #no\u200bjoin", ["done", "ok", "nojoin"]),
        ("#a. #b, #c; #d) #e' #f\" #g~", ["a", "b", "c", "d", "e", "f", "g"]),
        ("#up/ here", ["up/"]),
        ("# heading #inside", ["inside"]),
        ("#Tea #tea #TEA", ["Tea"]),
        # a tag starts after space or markup
        ("word#no (#no .#no -#no /#no ✅#no", []),
        ("##no and #", []),
        ("tab\t#a nbsp\u00a0#b wide\u3000#c", ["a", "b", "c"]),
        ("\\#no but \\\\#yes and \\]#also", ["yes", "also"]),
        ("[[Oak]]#a `x`#b $y$#c <br>#d [l](u)#e ![i](p.png)#f", ["a", "b", "c", "d", "e", "f"]),
        ("#one#two#3#four", ["one", "two"]),
        ("[#open] and [#never", ["open"]),
        ("[a [#inner] b] [#outer [b] c]", ["inner"]),
        ("[see #text](n.md) ![see #alt](p.png)", ["text"]),
        ("[x](n.md#frag) [x](<n #frag.md>) [x](n.md 'a #title')", []),
        ("[[n#frag|a #label]] [^#foot]", []),
        ("https://ex.org/#a http://ex.org/_#b <https://ex.org/#c>", []),
        ("entity &amp;#no", []),
        # emphasis beside a tag
        ("**#a** *#b* ***#c*** ~~#d~~ ==#e== __#f__", ["a", "b", "c", "d", "e", "f"]),
        ("lone *#no and **#no and ~~#no and ==#no and _#no", []),
        ("one ~#no~ tilde", []),
        ("in*#side*word", ["side"]),
        ("*from here*#on", ["on"]),
        ("snake_case_#tail but snake_#case", ["tail"]),
        ("_#whole_name_ end", ["whole_name"]),
        ("#kept_ and #inner_part", ["kept_", "inner_part"]),
        ("a_#b_c", []),
        ("_a `b_` c_#d", []),
        # syntax that does not hide tags
        ("para\n    #lazy", ["lazy"]),
        ("> para\n    #lazy", ["lazy"]),
        ("> - para\n\t#lazy", ["lazy"]),
        ("- > para\n      #lazy", ["lazy"]),
        ("para\n    > #a", ["a"]),
        ("para\n\t> #a\n\t> #b", ["a", "b"]),
        ("- item\n\t\t> #a", ["a"]),
        ("> para\n>     > #a", ["a"]),
        ("para\n2. ```\n#a", ["a"]),
        ("> ```\n> code\n\n#a", ["a"]),
        ("para\n    ```\n#lazy", ["lazy"]),
        ("- item\n\n    #para", ["para"]),
        ("cost $5 and #a for $6", ["a"]),
        ("$ #a $ and $x #b $ y", ["a", "b"]),
        ("half $x\n\n#a y$", ["a"]),
        ("%% #a %%\n\n%%\n#b\n%%", ["a", "b"]),
        ("<kbd>#a</kbd> <i>#b</i>", ["a", "b"]),
        ("<div>\n\n#a\n\n</div>", ["a"]),
        ("a <!--> #a --> b", ["a"]),
        ("<!-- x -->\n#a", ["a"]),
        ("<!DOCTYPE html>\n#a", ["a"]),
        ("| x |\n|---|\n| #a |\n|#b|", ["a", "b"]),
        ("|x|y|\n|-|-|\n|#a|b|\nx|#no|", ["a"]),
        ("> [!tip] t #a\n> #b\n>#c", ["a", "b", "c"]),
        ("[^1]: note #a\n\n    more #b", ["a", "b"]),
        ("- [ ] #a\n- [x] b #b", ["a", "b"]),
    ],
)
def test_tags(text: str, expected: list[str]) -> None:
    assert tags(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`#no`",
        "``a ` #no``",
        "```\n#no\n```",
        "~~~\n#no",
        "    #no",
        "- item\n\n      #no",
        "$a #no b$",
        "$$ #no $$",
        "$$\n#no\n\n#no\n$$",
        "> $$\n> #no\n> $$",
        "<!-- #no -->",
        "word <!-- #no\nstill #no --> word",
        "<div>\n#no\n</div>",
        "<h2>head #no</h2>",
        "- a\n  - b\n    <div>#no</div>",
        "1. \n     <pre>#no</pre>",
        "> ```\n> code\n#no",
        "- <div>\n#no",
        "<pre>\n\n#no\n</pre>",
        '<a href="#no">x</a>',
        "[k]: x.md#no",
        "> quoted\n>\n    #no",
        "> quoted\n\n    #no",
        "para\n\n    > #no",
    ],
)
def test_syntax_that_hides_tags(text: str) -> None:
    assert tags(text) == []
