"""Tables of contents for Markdown documents."""
