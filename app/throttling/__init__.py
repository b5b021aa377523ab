"""What is refused before it is looked at: rates and failed authentications."""
