"""Checkpoints and conversations in a git repository elsewhere: pushed, pulled and cloned; see
`docs/remote.md`."""
