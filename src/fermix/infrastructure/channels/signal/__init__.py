"""Signal, through the signal-cli program."""
