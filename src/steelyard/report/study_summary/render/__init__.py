"""`StudySummary` -> text for a terminal or Markdown. Nothing here computes a rate."""
