"""Everything that is special about an agent, as data: one JSON profile for each agent."""
