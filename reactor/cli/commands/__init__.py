"""One module for each command, which has its name; it imports heavy modules only when it runs."""
