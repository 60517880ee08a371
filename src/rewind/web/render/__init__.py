"""What the server makes HTML of: Markdown, code, differences. Every text in it is escaped here."""
