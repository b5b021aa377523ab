"""What is done with policies beside deciding: warnings, files, schemas of their structs. Pure."""
