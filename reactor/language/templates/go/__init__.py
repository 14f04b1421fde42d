"""Templates in the language of Go's text/template, with the commonly used functions of sprig."""
