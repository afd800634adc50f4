"""What Steelyard costs, each thing beside the least it could cost: `python -m benchmarks`."""
