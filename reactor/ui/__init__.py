"""The live page: the graph of a running converger as it is now, in a browser, and pauses from there."""
