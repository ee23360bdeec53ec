"""ReviewHub stands between an AI agent and the things it cannot undo.

Where things go: one small app per concept, and inside every app the same file roles:

* ``models.py`` tables, constraints, QuerySet methods; ``states.py`` an enum and its transition table;
* ``rules.py`` pure decisions on plain values; ``<verb>.py`` one use case, one public function named like the file;
* ``queries.py`` reads for pages and API; ``tasks.py`` Celery entry points (ids only, one call each).

Imports go one way, each line may use what stands to its right or below:

    api | web | live | ops -> retention -> insights -> hosting -> gates -> reviews -> limits | standing
        -> resumptions -> deliveries -> verdicts -> toolcalls -> budgets -> checkpoints | policies -> plans | tools
        -> runs -> accounts -> audit -> core

What each app is about:

* ``core`` what everybody needs: ids, clock, canonical values, errors, guarded moves, idempotency, words for the screen;
* ``audit`` the record: events, their kinds, the feed, the triggers that guard it;
* ``accounts`` people, teams, roles, agents and keys, and the one permission function;
* ``runs`` a run and its branches, leases and fences; ``tools`` what agents can do, as they registered it;
  ``plans`` what an agent says that it will do;
* ``checkpoints`` states: saved, read, compared, forked, kept small; ``policies`` which call needs whom;
  ``budgets`` what a state may weigh;
* ``toolcalls`` the ledger: each call from proposal to outcome, with decision, grant and attempts;
  ``verdicts`` what verifiers say of calls, and people of plans;
* ``deliveries`` e-mails; ``resumptions`` the outbox that wakes a branch;
* ``reviews`` requests before people: votes, decisions, deadlines, questions;
* ``gates`` what an agent's request does across all of these in one transaction: pause, consume, outcome, rewrite, stop;
* ``hosting`` runs that workers carry on; ``insights`` what the past says; ``retention`` what may go, and when;
* ``api`` HTTP for agents and programs; ``web`` pages; ``live`` the server process and its sockets; ``ops`` commands.

Beside the verbs: ``kinds.py`` the app's audit events; ``errors.py`` its refusals; ``present*.py`` rows as the API shows
them; ``targets.py`` what the permission function is asked about a row; ``lock*.py`` row locks in the one order.

Read next: ``gates/pause.py`` (an agent asks), ``reviews/decide.py`` (a person answers), ``hosting/resume.py``
(the run goes on).
"""

__version__ = "0.1.0"
