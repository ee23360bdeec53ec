"""Where the time of hosted runs goes: measured by the worker, summed up here."""
