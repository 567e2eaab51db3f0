"""Files of kinds other than Markdown, created by the tests."""

import io
import json
from collections.abc import Sequence
from typing import Any


def card(id: str, text: str, x: int = 0, y: int = 0, **more: Any) -> dict[str, Any]:
    """Return a text node of a canvas."""
    return {"id": id, "type": "text", "text": text, "x": x, "y": y, "width": 100, "height": 50, **more}


def canvas(*nodes: dict[str, Any], edges: Sequence[dict[str, Any]] = ()) -> str:
    """Return a canvas."""
    return json.dumps({"nodes": nodes, "edges": list(edges)})


def pdf(
    *pages: str,
    title: str | None = None,
    outline: Sequence[tuple[int, str, int]] = (),
    password: str = "",
    write_headings: bool = True,
) -> bytes:
    """Return a PDF; the outline has level, title and page, and each title is also written above its page's
    text."""
    from fpdf import FPDF

    document = FPDF()
    if title is not None:
        document.set_title(title)
    if password:
        document.set_encryption(owner_password="owner", user_password=password)
    document.set_font("helvetica", size=12)
    for number, text in enumerate(pages, 1):
        document.add_page()
        for level, heading, page in outline:
            if page == number:
                document.start_section(heading, level=level)
                if write_headings:
                    document.cell(text=heading)
                    document.ln()
        document.multi_cell(0, text=text)
    return bytes(document.output())


def picture(text: str) -> bytes:
    """Return a picture of a text."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (900, 160), "white")
    ImageDraw.Draw(image).text((20, 50), text, fill="black", font=ImageFont.load_default(44))
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def scan(text: str) -> bytes:
    """Return a one-page PDF that contains only a picture of a text."""
    from fpdf import FPDF

    document = FPDF()
    document.add_page()
    document.image(io.BytesIO(picture(text)), w=180)
    return bytes(document.output())


DRAWING = """---
excalidraw-plugin: parsed
tags: [excalidraw]
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠==

A note of its own.

```json
{"kept": "words of the note"}
```

# Excalidraw Data

## Text Elements
Sump pit ^a1b2

Pump of the [[Boiler]] ^c3d4

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoFAc0J
```
%%
"""
