"""What the log may keep of a call: secrets are redacted, values that must stay comparable are signed."""
