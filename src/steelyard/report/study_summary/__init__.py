"""Result lines -> one computed summary of a study: every number that a renderer shows, with interval and denominator.

    results = read_results(Path(".steelyard/runs"), study="9f3c")       run folders, or a file of JSON lines
    summary = summarise_study(results)                                  -> StudySummary
    summary.to_json()                                                   "schema": "steelyard.study_summary/1"

Renderers (terminal, Markdown, HTML) format what is here; they never divide.
"""
