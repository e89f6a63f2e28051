"""A line that does not fit."""


class LineError(ValueError):
    """A line of a conversation that does not fit; the text begins with file and line number and names the field.

    `line` counts from 1. `field` is the path within the line, empty where the line as a whole is meant.
    """

    def __init__(self, file: str, line: int, field: str, reason: str) -> None:
        self.file, self.line, self.field, self.reason = file, line, field, reason
        super().__init__(f"{file}:{line}: {f'`{field}` ' if field else ''}{reason}")
