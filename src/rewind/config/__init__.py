"""Settings: the table of settings, the defaults, the tiers, and how the files are merged."""
