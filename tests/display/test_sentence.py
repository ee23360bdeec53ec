"""The sentence that people read first never fails and never hides."""

import pytest

from reviewhub.core.display.sentence import faults, pack, plain, sentence, unpack


@pytest.mark.parametrize(
    ("template", "arguments", "said"),
    [
        (
            "Refund ${amount:money} to order {order_id}",
            '{"amount":"1240.00","order_id":"8812"}',
            "Refund $1,240.00 to order 8812",
        ),
        ("Refund {amount}", '{"amount":9007199254740993}', "Refund 9007199254740993"),
        ("Refund {amount:money}", '{"amount":9007199254740993}', "Refund 9,007,199,254,740,993"),
        ("Refund {amount:money}", '{"amount":"lots"}', "Refund lots"),
        ("Mail {to:count} people", '{"to":["a","b","c"]}', "Mail 3 people"),
        ("Mail {to}", '{"to":["a"]}', "Mail 1 item"),
        ("First is {items.0.sku}", '{"items":[{"sku":"k1"}]}', "First is k1"),
        ("Refund {amount} to {order_id}", "{}", "Refund (no amount) to (no order_id)"),
        ("Use {api_key}", '{"api_key":"abc"}', "Use ••••••••"),
        ("Set {{x}} to {v}", '{"v":null}', "Set {x} to nothing"),
        ("Say {v}", '{"v":"a\\u202eb"}', "Say a[U+202E]b"),
        ("Say {v}", '{"v":""}', "Say (empty)"),
        ("Broken {", '{"v":""}', "Broken {"),
        ("", '{"amount":1,"b":true}', "Call pay.refund with amount 1, b yes"),
        ("", "{}", "Call pay.refund without arguments"),
        ("  ", "[1]", "Call pay.refund without arguments"),
        ("", '{"a":1,"b":2,"c":3,"d":4,"password":"x"}', "Call pay.refund with a 1, b 2, c 3 and 2 more"),
    ],
)
def test_sentence(template: str, arguments: str, said: str) -> None:
    assert plain(sentence(tool="pay.refund", arguments_text=arguments, template=template)) == said


def test_values_are_strong_and_a_currency_sign_goes_with_its_number() -> None:
    parts = sentence(tool="t", arguments_text='{"a":"5"}', template="Pay ${a} now")
    assert [(part.text, part.strong) for part in parts] == [("Pay ", False), ("$5", True), (" now", False)]


def test_a_megabyte_does_not_make_a_long_sentence() -> None:
    assert (
        len(
            plain(
                sentence(tool="t", arguments_text=f'{{"a":"{"x" * 1_000_000}"}}', template="{a}{a}{a}{a}{a}")
            )
        )
        < 320
    )


def test_packed_parts_come_back() -> None:
    parts = sentence(tool="t", arguments_text='{"a":"é\\u202e"}', template="Say {a}")
    assert unpack(pack(parts)) == parts


def test_what_was_never_packed_is_shown_as_text() -> None:
    assert plain(unpack("not json")) == "not json"


def test_faults_of_a_template_are_said() -> None:
    assert faults("Refund ${amount:money}") == []
    assert faults("Refund {amount:euro}") == ["The format “euro” is unknown."]
    assert faults("Refund {amount") == ["A brace is not closed. Write {{ for a brace in the text."]


def test_the_sentences_own_spaces_are_no_oddity() -> None:
    parts = sentence(tool="refund", arguments_text='{"a":" 1","b":"2"}')
    kinds = [[piece.kind for piece in part.segments] for part in parts]
    assert [kind for kind in kinds if "spaces" in kind] == [["spaces", "text"]], (
        "only the value's own space is shown"
    )
    assert plain(parts) == "Call refund with a  1, b 2"
