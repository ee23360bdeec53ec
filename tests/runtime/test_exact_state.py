"""A state is saved and loaded as it is, with every type; what would come back otherwise is refused when it is saved."""

from __future__ import annotations

import enum
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, SecretStr, field_validator
from reviewhub_agents import canonical
from reviewhub_agents.runtime import run
from reviewhub_agents.runtime.errors import StateError
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.same import difference
from reviewhub_agents.runtime.state import dump, load

from tests.runtime.agent import NewerTicket, Ticket
from tests.runtime.exact_agent import Basket, Item, Kind, full, make


def test_every_type_comes_back() -> None:
    state = Basket(**full())
    text = dump(state)
    again = load(Basket, text)
    assert again == state
    assert difference(state, again) is None
    assert dump(again) == text
    assert canonical.canonical(text) == text
    assert again.when is not None and again.when.fold == 1 and str(again.when.tzinfo) == "Europe/Berlin"
    assert [type(item) for item in again.anything] == [type(item) for item in state.anything]


def test_a_graph_resumes_with_the_types_it_had() -> None:
    store = MemoryStore()
    graph = make()
    assert run(graph, store) == "paused"
    store.decide("approve")
    assert run(make(), store) == "finished"
    (_, said) = canonical.to_python(canonical.parse(store.result or ""))
    assert said == (
        "True (Decimal('0.10'), b'\\xff', 1.0) Place datetime.datetime(2026, 10, 25, 2, 30, fold=1, "
        "tzinfo=zoneinfo.ZoneInfo(key='Europe/Berlin'))"
    )


def test_plain_states_keep_their_text_and_so_their_hash() -> None:
    state = Ticket(said="é", steps=["a"])
    assert dump(state) == canonical.dumps(state.model_dump(mode="json"))


def test_states_saved_before_still_load() -> None:
    values = full() | {"name": "x", "rate": 1.5, "raw": b"ok", "anything": [1, 1.0], "blob": None}
    old = canonical.dumps(Basket(**values).model_dump(mode="json"))
    again = load(Basket, old)
    assert again.total == Decimal("10.10") and again.items[0].kind is Kind.BOOK and again.tags == {"a", "b"}
    assert again.by_number.keys() == {3} and again.pair == (1, Decimal("2.50"))
    assert load(Basket, dump(again)) == again
    assert load(NewerTicket, dump(Ticket())).currency == "EUR"


def test_the_result_is_the_state_as_it_is_saved_when_none_is_made() -> None:
    graph = make()
    graph.result = type(graph)("same", Basket).result
    store = MemoryStore(policy=lambda proposal: "allowed")
    assert run(graph, store) == "finished"
    assert load(Basket, store.result or "").total == Decimal("10.10")


class Sub(Item):
    note: str = "lost?"


class Hidden(BaseModel):
    key: SecretStr = SecretStr("hush")


class Rounded(BaseModel):
    value: float = 0.0

    @field_validator("value")
    @classmethod
    def rounded(cls, value: float) -> float:
        return round(value)


class Own:
    """A class of nobody's."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.n == other.n


OwnField = Annotated[
    Own,
    PlainValidator(lambda given: given if isinstance(given, Own) else Own(given)),
    PlainSerializer(lambda own: own.n, when_used="json"),
]


class Serialised(BaseModel):
    own: OwnField = Own(1)


def test_what_only_pydantic_can_write_is_taken_if_it_comes_back() -> None:
    assert dump(Serialised(own=Own(5))) == '{"own":5}'
    assert load(Serialised, '{"own":5}').own == Own(5)


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: Any = None


class Local(enum.Enum):
    A = 1


ITEM = {"price": Decimal(1), "kind": Kind.BOOK, "seen": datetime(2026, 1, 1, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Basket(items=[Sub(**ITEM)]), r"/items/0: A value of type .*\.Sub would come back of type .*\.Item"),
        (Hidden(), r"/key: A value of type .*SecretStr would come back another value"),
        (
            Rounded.model_construct(value=1.5),
            "/value: A value of type builtins.float would come back of type builtins.int",
        ),
        (
            Basket.model_construct(**full() | {"rate": 1}),
            "/rate: A value of type builtins.int .* builtins.float",
        ),
        (Basket(anything=[Local.A]), r"/anything/0: .*Local would come back of type enum .*\.Local"),
        (Basket(anything={"x": object()}), "/anything/x: A value of type builtins.object cannot be kept"),
        (
            Basket(anything=[Kind.BOOK, full()["path"]]),
            "/anything/1: .*PurePosixPath would come back of type",
        ),
        (Basket.model_construct(total=math.nan), "could not be read again"),
        (Loose(a=1, b={1: Hidden()}), "cannot be saved"),
    ],
)
def test_what_would_come_back_otherwise_is_refused_by_path_and_type(state: BaseModel, said: str) -> None:
    with pytest.raises(StateError, match=said) as caught:
        dump(state)
    assert "hush" not in str(caught.value)


def test_types_that_no_annotation_names_are_given_to_the_graph() -> None:
    state = Loose(a=[Local.A], b=(1, Local.A))
    text = dump(state, types=[Local])
    assert load(Loose, text, types=[Local]) == state
    moved = text.replace("test_exact_state.Local", "old.Place")
    assert load(Loose, moved, types={"tests.runtime.old.Place": Local}) == state


def test_a_state_may_say_what_is_none_of_it() -> None:
    class Cached(BaseModel):
        a: int = 1
        cache: Any = Field(default=None, exclude=True)

    assert dump(Cached(cache=object())) == '{"a":1}'


def test_a_state_with_aliases_comes_back() -> None:
    class Named(BaseModel):
        order: Decimal = Field(default=Decimal(0), alias="orderTotal")

    assert load(Named, dump(Named(orderTotal=Decimal("1.0")))).order.as_tuple() == Decimal("1.0").as_tuple()
    assert load(Named, '{"orderTotal":"2"}').order == 2


def test_everything_in_it_can_be_declared() -> None:
    make().check()


def test_a_text_about_marks_is_a_text() -> None:
    state = Ticket(said='"$rh": x', steps=["$rh"])
    assert load(Ticket, dump(state)) == state


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({1: 2}, {True: 2}),
        ({1: 2}, {1.0: 2}),
        ([0.0], [-0.0]),
        ([Decimal("1.0")], [Decimal("1.00")]),
        ([{1}], [{True}]),
        ([{1}], [{2}]),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, fold=1, tzinfo=UTC)),
    ],
)
def test_every_difference_is_found(before: Any, after: Any) -> None:
    assert difference(before, after) is not None
    assert difference(before, before) is None
    assert difference([math.nan], [float("nan")]) is None


class Order(BaseModel):
    order: str
    lines: list[int] = []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "order: Field required"),
        ('{"order": "a", "lines": [1, "secret"]}', "lines/1: Input should be a valid integer"),
        ("[]", "all of it: Input should be"),
        ('{"order": 5, "lines": 6}', "order: Input should be a valid string; lines: Input should be a valid"),
    ],
)
def test_what_does_not_fit_is_told_by_its_place_and_not_by_its_value(text: str, said: str) -> None:
    with pytest.raises(StateError) as caught:
        load(Order, text)
    assert said in str(caught.value)
    assert "http" not in str(caught.value) and "secret" not in str(caught.value)
