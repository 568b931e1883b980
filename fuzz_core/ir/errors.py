"""The errors that cross module boundaries."""


class NightfuzzError(Exception):
    """Base of every error that nightfuzz raises on purpose."""


class UserError(NightfuzzError):
    """Bad input: what is wrong (and where), and what to do about it.

    Ends the program with exit code 2.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem if not remedy else f"{problem}\n  -> {remedy}")
        self.problem = problem
        self.remedy = remedy


class CodecError(NightfuzzError):
    """Data from a worker, a file or the store does not describe a value."""


class BuildError(NightfuzzError):
    """A described value cannot be made in this target (an api or dtype it does not have, too many elements)."""


class Undescribable(NightfuzzError):  # noqa: N818 - named for what it says of the value
    """A live value has no description: the text names its type."""


class Interrupted(NightfuzzError):  # noqa: N818 - an end that the user asked for
    """The user asked to stop while the program was waiting."""
