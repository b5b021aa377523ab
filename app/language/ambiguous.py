"""The one error of this package."""


class Ambiguous(ValueError):
    """A string that two readers may read differently, or that is not of its kind; the message says why.

    A rule that reads such a string fails. The string is refused, never repaired: the rule would decide about one
    string, and the tool would get another.
    """
