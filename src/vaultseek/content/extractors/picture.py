"""Recognize text in pictures by OCR; needs the extra ``ocr``."""

import io
from functools import cache
from typing import Any

from vaultseek.base.extras import has_extra
from vaultseek.base.limits import OCR_PIXELS
from vaultseek.base.model import Note
from vaultseek.content.extractors.composition import Composition, named_only

NOT_INSTALLED = "reading pictures needs the ocr extra; add it, or remove ocr from [index] kinds"
"""Problem message for a picture that cannot be read because the extra is missing."""
CERTAINTY = 0.5
"""Minimum certainty, from 0 to 1, that a line was recognized correctly. Lines with a lower certainty are left
out."""


def read(data: bytes, path: str) -> Note:
    """Read the text in a picture as a note."""
    if not has_extra("ocr"):
        return named_only(path, "no_ocr", NOT_INSTALLED)
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as picture:
            if picture.width * picture.height > OCR_PIXELS:
                return named_only(path, "too_large", "the picture has too many pixels")
            import numpy as np

            pixels = np.asarray(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return named_only(path, "damaged", "not a picture, or damaged")
    made = Composition(path)
    made.paragraph(recognize(pixels))
    return made.note()


def recognize(pixels: Any) -> str:
    """Return the text in a picture, line by line."""
    answer = _engine()(pixels)
    if answer.txts is None:
        return ""
    lines = zip(answer.txts, answer.scores, strict=True)
    return "\n".join(text for text, certainty in lines if certainty >= CERTAINTY)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error"})
