"""Templates in the language Jet, without its escaping for HTML."""
