"""The steps of a build, one module each. A step takes the draft and adds edges or problems to it."""
