"""Reads a page as a strict reader: every element closed where it should be, every id once."""

from __future__ import annotations

from html.parser import HTMLParser

EMPTY = {"meta", "br"}


class Page(HTMLParser):
    """The elements of a page, with their attributes, and the text in them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parents: list[list[str]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"{tag}: an attribute twice"
        self.elements.append((tag, dict(attrs)))
        self.parents.append(list(self._open))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_in(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    @property
    def words(self) -> str:
        return " ".join(" ".join(text for tag, text in self.texts if tag not in ("script", "style")).split())
