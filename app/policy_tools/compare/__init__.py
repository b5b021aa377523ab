"""What a change of policies means: calls that are answered otherwise, found without a log."""
