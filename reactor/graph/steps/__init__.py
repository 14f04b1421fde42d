"""The steps of a build, one module each. A step adds edges or problems to the `GraphBuilder`."""
