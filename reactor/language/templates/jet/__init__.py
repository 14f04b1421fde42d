"""Templates as Jet reads them, without its escaping for HTML."""
