"""The code part of a checkpoint: scan, ignore rules, capture, plan, apply, diff."""
