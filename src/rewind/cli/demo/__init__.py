"""`rewind demo`: a tour that checks itself."""
