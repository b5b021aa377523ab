"""What a commit was called with, by the names that the headers of the script and of its parts give it."""

from app.redis_client.scripts import COMMIT_DECISION, COMMIT_PARTS


def parts_of(script, keys, args):
    """The parts that a call has: name -> (its keys, its arguments), as lists; empty for the script without parts."""
    found = {}
    if script is COMMIT_DECISION:
        return found
    words, keys, args = str(args[-1]).split(), list(keys), list(args[:-1])
    for name, key_count, arg_count in zip(words[::3], words[1::3], words[2::3], strict=True):
        first_key, first_arg = len(keys) - int(key_count), len(args) - int(arg_count)
        found[name] = (keys[first_key:], args[first_arg:])
        keys, args = keys[:first_key], args[:first_arg]
    return found


def named(script, keys, args):
    """Name -> argument: those of every commit and those of the parts that the call has; of several, the first."""
    found = dict(zip(script.args, args, strict=False))
    for name, (_, given) in parts_of(script, keys, args).items():
        found |= dict(zip(COMMIT_PARTS[name].words("ARGV"), given, strict=False))
    return found
