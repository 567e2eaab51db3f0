"""The screen of the live search: prompt, list, preview and key hints, drawn by prompt_toolkit."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from operator import itemgetter
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Point
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Always, completion_is_selected, has_completions
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    CompletionsMenu,
    DynamicContainer,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.styles import Style

from vaultseek.base.model import JSON
from vaultseek.doors.cli.live.filters import Suggestion
from vaultseek.doors.cli.live.finder import Finder
from vaultseek.doors.cli.live.preview import Row, remarks, row
from vaultseek.doors.cli.output import with_command
from vaultseek.doors.cli.search_page import is_listing
from vaultseek.doors.cli.terminal import clean, count, width_of, wrap
from vaultseek.errors import VaultseekError

BESIDE_COLUMNS = 100
"""Minimum screen width in columns for showing the preview beside the list; on narrower screens, the preview
is below the list."""
HALVED_COLUMNS = 140
"""Minimum screen width in columns for a list and preview of equal width; on narrower screens, the list is
wider, so that names are readable."""
KEYS = (
    ("Enter", "open", 1),
    ("Tab", "filter", 3),
    ("Ctrl-T", "mark", 4),
    ("Ctrl-O", "Obsidian", 5),
    ("Ctrl-Y", "link", 6),
    ("PgUp PgDn", "scroll", 7),
    ("Esc", "leave", 2),
)
"""The keys in the bottom line, in order, with their actions. On a narrow screen, only keys with low numbers
are shown."""

STATUS_ROWS = 3
"""Maximum height in rows of the status line, on screens where the line does not fit in one row."""

Suggest = Callable[[str], Awaitable[Sequence[Suggestion]]]
"""A function that returns possible continuations of the text before the cursor."""
Choice = tuple[Sequence[JSON], bool]
"""The results to open, and a flag that is True to open them in Obsidian."""

_PROMPT = "> "
_SMALLEST = 3
# Magenta is the only colour that is readable on black, on white and on both Solarized backgrounds.
_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "marker": "bold ansimagenta",
        "selected": "reverse",
        "title": "bold",
        "folder": "dim",
        "certainty": "dim",
        "selected folder": "noinherit reverse",
        "selected certainty": "noinherit reverse",
        "number": "dim",
        "match": "bold ansimagenta",
        "word": "bold underline",
        "figures": "dim",
        "warning": "ansimagenta",
        "rule": "dim",
        "key": "bold",
        "action": "dim",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit reverse",
        "completion-menu.completion.current": "noinherit bold",
        "completion-menu.meta.completion": "noinherit reverse",
        "completion-menu.meta.completion.current": "noinherit bold",
        "scrollbar.background": "reverse",
        "scrollbar.button": "noreverse",
    }
)


class Screen:
    """The windows of a live search; without ``color``, the screen is monochrome.

    If standard output is a pipe, the screen is drawn on standard error.
    """

    def __init__(
        self,
        finder: Finder,
        suggest: Suggest,
        *,
        query: str = "",
        color: bool = True,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._finder = finder
        self._output = output or create_output(always_prefer_tty=True)
        self._scroll = 0
        self._browsing = False
        self._notice = ""
        """Text that replaces the remarks until a key is pressed."""
        self._prompt = Buffer(
            document=Document(query),
            completer=_Filters(suggest),
            multiline=False,
            on_text_changed=self._search,
            on_cursor_position_changed=self._search,
        )
        self._list = Window(
            FormattedTextControl(
                self._rows, get_cursor_position=lambda: Point(0, finder.selected), show_cursor=False
            ),
            width=self._list_columns,
        )
        self._preview = Window(FormattedTextControl(self._preview_rows))
        self._application: Application[Choice | None] = Application(
            layout=Layout(self._layout(), focused_element=self._prompt),
            key_bindings=self._keys(),
            style=_STYLE,
            full_screen=True,
            color_depth=None if color else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=self._output,
        )
        # A single Escape takes effect almost at once, but Escape before a letter still means Alt.
        self._application.ttimeoutlen = self._application.timeoutlen = 0.05
        finder.on_change = self._application.invalidate

    async def run(self) -> Choice | None:
        """Show the search in its last state until the user chooses results or leaves; return the choice, or
        None."""
        self._application.create_background_task(self._finder.run())
        return await self._application.run_async()

    def notify(self, notice: str) -> None:
        """Show ``notice`` in place of the remarks until a key is pressed."""
        self._notice = clean(notice)

    # -- layout

    def _layout(self) -> AnyContainer:
        prompt = Window(
            BufferControl(self._prompt, input_processors=[BeforeInput(_PROMPT, style="class:prompt")]),
            height=1,
        )
        status = Window(
            FormattedTextControl(self._status), height=Dimension(1, STATUS_ROWS), dont_extend_height=True
        )
        beside = VSplit([self._list, _rule(width=1, char="│"), self._preview])
        below = HSplit([self._list, _rule(height=1, char="─"), self._preview])
        body = DynamicContainer(lambda: beside if self._is_wide else below)
        keys = Window(FormattedTextControl(lambda: _keys_line(self._columns)), height=1)
        return FloatContainer(
            HSplit([prompt, status, body, keys]),
            floats=[Float(CompletionsMenu(max_height=12), xcursor=True, ycursor=True)],
        )

    @property
    def _columns(self) -> int:
        return self._output.get_size().columns

    @property
    def _is_wide(self) -> bool:
        return self._columns >= BESIDE_COLUMNS

    def _list_columns(self) -> int:
        if not self._is_wide:
            return self._columns
        return self._columns // 2 if self._columns >= HALVED_COLUMNS else self._columns * 3 // 5

    def _preview_size(self) -> tuple[int, int]:
        drawn = self._preview.render_info
        if drawn is None:
            return self._columns - (self._list_columns() + 1 if self._is_wide else 0), _SMALLEST
        return drawn.window_width, drawn.window_height

    # -- content of the windows

    def _rows(self) -> StyleAndTextTuples:
        finder, columns = self._finder, self._list_columns()
        scored = not is_listing(finder.answer)
        rows = (
            row(
                each,
                columns,
                selected=number == finder.selected,
                marked=finder.is_marked(each),
                scored=scored,
            )
            for number, each in enumerate(finder.results)
        )
        folded = (
            [[("figures", f"  {count(finder.folded, 'less certain note')}: Down")]] if finder.folded else []
        )
        return _styled([*rows, *folded])

    def _preview_rows(self) -> StyleAndTextTuples:
        preview = self._finder.preview
        return [] if preview is None else _styled(preview.page(*self._preview_size(), self._scroll))

    def _status(self) -> StyleAndTextTuples:
        if self._finder.is_beginning:
            return [("class:figures", "  searching")]
        marked = len(self._finder.marked)
        parts = [("word", f"{count(marked, 'note')} marked")] if marked else []
        parts += (
            [("word", self._notice)] if self._notice else remarks(self._finder.answer, self._finder.message)
        )
        return _styled(status_rows(parts, self._columns))

    # -- keys

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        prompt = self._prompt
        for names, condition, act in (
            (("down", "c-n"), ~has_completions, lambda: self._move(1)),
            (("up", "c-p"), ~has_completions, lambda: self._move(-1)),
            (("pagedown",), Always(), lambda: self._scroll_preview(1)),
            (("pageup",), Always(), lambda: self._scroll_preview(-1)),
            (("tab",), has_completions, lambda: self._browse(prompt.complete_next)),
            (("tab",), ~has_completions, lambda: prompt.start_completion(insert_common_part=True)),
            (("s-tab",), Always(), lambda: self._browse(prompt.complete_previous)),
            (("enter",), ~completion_is_selected, lambda: self._choose(obsidian=False)),
            (("enter",), completion_is_selected, self._accept),
            (("c-t",), Always(), self._finder.mark),
            (("c-y",), Always(), self._copy),
            (("c-o",), Always(), lambda: self._choose(obsidian=True)),
            (("escape",), has_completions, prompt.cancel_completion),
            (("escape",), ~has_completions, lambda: self._leave(None)),
            (("c-c", "c-d"), Always(), lambda: self._leave(None)),
        ):
            for name in names:
                keys.add(name, filter=condition)(self._handler(act))
        return keys

    def _handler(self, act: Callable[[], object]) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            self._notice = ""
            act()

        return handle

    def _search(self, prompt: Buffer) -> None:
        """Search for the text in the prompt, unless the user is only selecting among suggestions."""
        self._notice = ""
        if not self._browsing:
            self._finder.type(prompt.text)

    def _browse(self, to_offer: Callable[[], None]) -> None:
        """Select another suggestion without changing the list of results."""
        self._browsing = True
        to_offer()
        self._browsing = False

    def _accept(self) -> None:
        self._prompt.complete_state = None
        self._search(self._prompt)

    def _move(self, by: int) -> None:
        self._scroll = 0
        self._finder.move(by)

    def _scroll_preview(self, pages: int) -> None:
        columns, height = self._preview_size()
        if self._finder.preview is not None:
            by = pages * max(1, height - 2)
            self._scroll = self._finder.preview.scrolled(by, columns, height, self._scroll)

    def _choose(self, *, obsidian: bool) -> None:
        """Exit with the chosen results; if an answer is pending, wait for it and choose its first result."""
        self._accept()

        async def leave() -> None:
            await self._finder.settled()
            if self._finder.chosen and not self._finder.message:
                self._leave((self._finder.chosen, obsidian))

        self._application.create_background_task(leave())

    def _leave(self, choice: Choice | None) -> None:
        if not self._application.is_done:  # another key may be pressed before the screen is closed
            self._application.exit(result=choice)

    def _copy(self) -> None:
        """Copy links to the chosen notes to the clipboard of the terminal, which may be on another
        computer."""

        async def copy() -> None:
            try:
                links = await self._finder.links()
            except VaultseekError as error:
                self._notice = clean(with_command(error, error.advice))
            else:
                if links:
                    data = b64encode("\n".join(links).encode()).decode()
                    self._output.write_raw(f"\x1b]52;c;{data}\x07")
                    self._output.flush()
                    self._notice = f"Copied {clean(' '.join(links))}"
            self._application.invalidate()

        self._application.create_background_task(copy())


class _Filters(Completer):
    """A completer that offers the suggestions returned by ``suggest``."""

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> list[Completion]:
        return []

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        for offer in await self._suggest(document.text_before_cursor):
            yield Completion(
                offer.text, -offer.replaced, display=offer.text.strip(), display_meta=offer.about
            )


def _rule(**place: Any) -> Window:
    return Window(style="class:rule", **place)


def _keys_line(columns: int) -> StyleAndTextTuples:
    """Return the key hints that fit on the screen; if not all fit, the most important ones."""
    room, shown = columns, set()
    for key, action, place in sorted(KEYS, key=itemgetter(2)):
        room -= len(f"  {key} {action}")
        if room < 0:
            break
        shown.add(place)
    parts: StyleAndTextTuples = []
    for key, action, place in KEYS:
        if place in shown:
            parts += [("class:key", f"  {key}"), ("class:action", f" {action}")]
    return parts


def status_rows(parts: Sequence[tuple[str, str]], columns: int) -> list[Row]:
    """Return figures and remarks as one row if they fit; otherwise, each part gets its own rows."""
    if sum(2 + width_of(text) for _, text in parts) <= columns:
        return [[(style, f"  {text}") for style, text in parts]]
    rows: list[Row] = []
    for style, text in parts:
        height = 1 if style == "figures" else STATUS_ROWS
        rows += [[(style, f"  {line}")] for line in wrap(text, columns - 2, height)]
    return rows


def _styled(rows: Any) -> StyleAndTextTuples:
    parts: StyleAndTextTuples = []
    for each in rows:
        parts += [(" ".join(f"class:{name}" for name in style.split()), text) for style, text in each]
        parts.append(("", "\n"))
    return parts[:-1]
