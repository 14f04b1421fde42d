"""Templates in Jinja2, sandboxed and with limits: https://jinja.palletsprojects.com."""
