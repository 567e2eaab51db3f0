"""Pictures in a vault, and files that are not pictures."""

import pytest

from vaultseek.doors.ui.pictures import read_picture
from vaultseek.errors import BadPath, NotFound, Unavailable

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_a_picture_is_known_by_its_bytes(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, data, type in (
        ("a.png", PNG, "image/png"),
        ("sub/b.txt", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("c.gif", b"GIF89a", "image/gif"),
        ("d.webp", b"RIFF\0\0\0\0WEBP", "image/webp"),
        ("e.avif", b"\0\0\0\x1cftypavif", "image/avif"),
    ):
        (tmp_path / name).write_bytes(data)
        assert read_picture(tmp_path, name) == (data, type)


@pytest.mark.parametrize(
    "path", ["../a.png", "/etc/passwd", "sub/../../a.png", ".obsidian/a.png", "a/.hidden.png", "", ".", "a\0"]
)
def test_nothing_outside_the_vault_or_hidden_is_read(tmp_path, path):
    with pytest.raises(BadPath):
        read_picture(tmp_path, path)


@pytest.mark.parametrize(
    "head",
    ["", "\ufeff", "\n", '<?xml version="1.0"?>\n<!-- made by hand -->\n<!DOCTYPE svg PUBLIC "a" "b">\n'],
)
def test_a_drawing_is_a_picture(tmp_path, head):
    # No script in it can run: the page shows it in an img element, from an address without an origin.
    text = f'{head}<svg xmlns="http://www.w3.org/2000/svg"/>'
    (tmp_path / "drawing.svg").write_text(text)
    assert read_picture(tmp_path, "drawing.svg") == (text.encode(), "image/svg+xml")


def test_what_is_no_picture_is_not_served(tmp_path):
    (tmp_path / "note.md").write_text("# secret")
    (tmp_path / "bomb.svg").write_text('<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>')
    (tmp_path / "page.svg").write_text("<html><svg></svg></html>")
    (tmp_path / "endless.svg").write_text("<!--a-->" * 100 + "<x")
    (tmp_path / "page.png").write_text("<!doctype html><script>1</script>")
    for name in ("note.md", "bomb.svg", "page.svg", "endless.svg", "page.png"):
        with pytest.raises(Unavailable):
            read_picture(tmp_path, name)
    with pytest.raises(NotFound):
        read_picture(tmp_path, "none.png")


def test_a_link_out_of_the_vault_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.png").write_bytes(PNG)
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.png").symlink_to(outside / "a.png")
    (vault / "folder").symlink_to(outside)
    for path in ("a.png", "folder/a.png"):
        with pytest.raises((Unavailable, NotFound)):
            read_picture(vault, path)
