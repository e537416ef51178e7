"""Variables of addresses that take any text: handles and ids of contests may have slashes and line ends."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor

__all__ = ["TEXT"]

TEXT = "text"  # a variable is written {handle:text}; Starlette's own `path` ends at a line end


class _Text(Convertor[str]):
    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(TEXT, _Text())
