"""What a format cannot express."""


class UnrenderablePromptError(ValueError):
    """The messages break a rule of the format, so that its provider would refuse them.

    `format_name` is the format, `field` the place in the neutral messages, such as `messages[2].parts[0]`.
    """

    def __init__(self, format_name: str, field: str, problem: str) -> None:
        self.format_name = format_name
        self.field = field
        super().__init__(f"{format_name}: {field} {problem}")
