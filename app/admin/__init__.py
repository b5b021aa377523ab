"""What an administrator does, the same over HTTP and from the command line: a change and all that follows from it."""
