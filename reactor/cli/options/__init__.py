"""Options and arguments that several commands share, and the larger ones of single commands."""
