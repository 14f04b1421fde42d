"""How versions compare: by dpkg's rules and by rpm's, without asking either."""
