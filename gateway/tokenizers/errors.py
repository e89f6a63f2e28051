"""What can go wrong when tokens are counted; each error names the remedy and never quotes the text."""


class TokenizerError(Exception):
    """Base of this package's errors."""


class UnknownTokenizerError(TokenizerError):
    """A tokenizer was asked for that this build does not carry."""

    def __init__(self, tokenizer: str, known: tuple[str, ...]) -> None:
        self.tokenizer = tokenizer
        self.known = known
        super().__init__(
            f"tokenizer: {tokenizer!r} is not known; use one of {', '.join(known)}, or leave it unset"
        )


class TextTooLargeError(TokenizerError):
    """A text is longer than what may be counted in one call, whose time is therefore bounded."""

    def __init__(self, characters: int, limit: int, what: str = "text") -> None:
        self.characters = characters
        self.limit = limit
        self.what = what
        super().__init__(
            f"{what}: {characters} characters, at most {limit} can be counted; shorten or split it"
        )


class TextNotEncodableError(TokenizerError):
    """A text holds a lone surrogate, which UTF-8 cannot carry and so no provider would accept."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__(f"text: lone surrogate at character {offset}; remove it or replace it by U+FFFD")


class TokenizerFailedError(TokenizerError):
    """The tokenizer's library gave up on a text, or could not load its vocabulary."""

    def __init__(self, tokenizer: str) -> None:
        self.tokenizer = tokenizer
        super().__init__(
            f"tokenizer {tokenizer}: the library failed; shorten the text, or report it as a defect"
        )
