"""One run for several gated calls."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from uuid import UUID

from reviewhub_agents import routes
from reviewhub_agents.client import AsyncClient, Client
from reviewhub_agents.errors import AgentStopped, UnexpectedAnswer
from reviewhub_agents.exchange import Steps, exchange
from reviewhub_agents.wire import FailBody, FinishBody, RunOut, RunStart

_run: ContextVar[RunOut | None] = ContextVar("reviewhub_run", default=None)


def active_run() -> UUID | None:
    """The run that gated calls of this thread or task belong to, or None."""
    run = _run.get()
    return None if run is None else run.id


class review_run:  # reads as a verb where it is used, like contextlib's
    """`with review_run(client, title="Refunds"):` (or `async with`): gated calls inside belong to this run.

    The run is finished at the end, or failed when the block raised. One pause at a time: calls of one run wait for
    each other, so what shall wait side by side needs runs of its own.
    """

    def __init__(
        self,
        client: Client | AsyncClient,
        *,
        title: str = "",
        external_id: str | None = None,
        on_behalf_of: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """The same `external_id` finds the same run again."""
        self.client = client
        self._start = RunStart(
            title=title, external_id=external_id, on_behalf_of=on_behalf_of, labels=dict(labels or {})
        )
        self._token: Token[RunOut | None] | None = None

    def __enter__(self) -> RunOut:
        if not isinstance(self.client, Client):
            raise TypeError("An AsyncClient needs `async with`.")
        return self._entered(self.client.carry_out(self._begin()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert isinstance(self.client, Client)
        self.client.carry_out(self._end(self._left(), error))

    async def __aenter__(self) -> RunOut:
        if not isinstance(self.client, AsyncClient):
            raise TypeError("A Client needs `with`.")
        return self._entered(await self.client.carry_out(self._begin()))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert isinstance(self.client, AsyncClient)
        await self.client.carry_out(self._end(self._left(), error))

    def _begin(self) -> Steps[RunOut]:
        run = yield from exchange(routes.start_run(self._start), patience=self.client.patience)
        if not run.branches:
            raise UnexpectedAnswer("The new run has no branch.")
        return run

    def _end(self, run: RunOut, error: BaseException | None) -> Steps[None]:
        branch, patience = run.branches[0].id, self.client.patience
        if error is None:
            yield from exchange(routes.finish(branch, FinishBody()), patience=patience)
        elif not isinstance(error, AgentStopped):
            # A stopped agent's runs were ended by the stop, and it may write nothing any more.
            yield from exchange(routes.fail(branch, FailBody(error=repr(error)[:4000])), patience=patience)

    def _entered(self, run: RunOut) -> RunOut:
        self._token = _run.set(run)
        return run

    def _left(self) -> RunOut:
        run = _run.get()
        assert run is not None
        assert self._token is not None
        _run.reset(self._token)
        return run
