"""Templates as Go's text/template reads them, with the commonly used functions of sprig."""
