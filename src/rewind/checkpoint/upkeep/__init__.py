"""What is kept and for how long, what it takes on the disk, and packing."""
