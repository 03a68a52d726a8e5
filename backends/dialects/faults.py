"""What is wrong with a client's body, in words that every dialect can put into its envelope."""


class RequestFault(Exception):
    """The request is at fault (400). `param` is the path of the field, as in `messages[0].role`; `code` may be None."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
