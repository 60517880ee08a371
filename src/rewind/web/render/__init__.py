"""Makes HTML of Markdown, code and differences. Every text is escaped here."""
