"""What is shown of a study: its plan, its progress, its state."""
