"""Where commands run. `catalogue.py` has the backends by name, `base.py` what each of them is."""
