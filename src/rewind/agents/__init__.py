"""All that is special about one agent, as data: a JSON profile each."""
