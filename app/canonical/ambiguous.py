"""The one error of this package."""


class Ambiguous(ValueError):
    """A text that two readers may take for different things, or that is none of the kind; the message says why.

    Nobody can vouch for such a text, so a rule that reads it fails: it is refused and never mended, because a reader
    that mends it decides about another text than the one that the tool gets.
    """
