"""Settings: what there is to set, the defaults, the tiers, and how the files are merged."""
