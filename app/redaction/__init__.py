"""The part of a call that the log may keep: secrets are redacted, values that must stay comparable are signed."""
