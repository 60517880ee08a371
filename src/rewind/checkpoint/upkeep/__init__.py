"""What is kept and for how long, packing, and checkpoints as files."""
