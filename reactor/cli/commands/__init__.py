"""One module for each command, named after it. It imports heavy modules only when the command runs."""
