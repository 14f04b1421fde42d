"""Options and arguments that several commands have, or that have a subject of their own."""
