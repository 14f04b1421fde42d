"""reactor makes a Linux host match a manifest and keeps it matched."""
