"""ReviewHub stands between an AI agent and the things it cannot undo.

Where things go: one small app per concept, and inside every app the same file roles:

* ``models.py`` tables, constraints, QuerySet methods; ``states.py`` an enum and its transition table;
* ``rules.py`` pure decisions on plain values; ``<verb>.py`` one use case, one public function named like the file;
* ``queries.py`` reads for pages and API; ``tasks.py`` Celery entry points (ids only, one call each).

Imports go one way, each line may use what stands to its right or below:

    api | web | live | ops -> retention -> hosting | insights -> gates -> reviews -> resumptions -> deliveries
        -> toolcalls -> budgets -> checkpoints | policies -> plans | tools -> runs -> accounts -> audit -> core

Read next: ``gates/pause.py`` (an agent asks), ``reviews/decide.py`` (a person answers), ``hosting/resume.py``
(the run goes on).
"""

__version__ = "0.1.0"
