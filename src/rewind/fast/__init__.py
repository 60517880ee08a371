"""Standard modules without the cost of importing them: the only home of start-up tricks."""
