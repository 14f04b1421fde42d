"""Templates in Jinja2, sandboxed and bounded: https://jinja.palletsprojects.com."""
