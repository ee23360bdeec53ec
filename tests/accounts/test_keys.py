"""Agent keys: shape, check, what is kept."""

import re

import pytest

from reviewhub.accounts.keys import NewKey, hash_key, key_matches, key_prefix, looks_like_key, make_key


@pytest.fixture
def key() -> NewKey:
    return make_key(environment="production")


def test_a_key_names_its_environment_and_is_recognised(key):
    assert re.fullmatch(r"rh_pro_[A-Za-z0-9]{49}", key.text)
    assert looks_like_key(key.text)
    assert key_matches(key.text, key_hash=key.key_hash)


def test_two_keys_differ_and_do_not_fit_each_other(key):
    other = make_key(environment="production")
    assert other.text != key.text
    assert not key_matches(other.text, key_hash=key.key_hash)


def test_only_prefix_and_hash_are_shown(key):
    assert key.text not in repr(key)
    assert key.prefix == key.text[:13] == key_prefix(key.text)
    assert len(key.prefix) <= 20
    assert re.fullmatch(r"[0-9a-f]{64}", key.key_hash)
    assert key.key_hash == hash_key(key.text)


@pytest.mark.parametrize(
    ("environment", "label"),
    [("staging", "sta"), ("Test 2", "tes"), ("eu", "eux"), ("", "xxx"), ("Ωmega", "meg"), ("42", "xxx")],
)
def test_any_environment_gets_a_label_of_three_letters(environment, label):
    text = make_key(environment=environment).text
    assert text.startswith(f"rh_{label}_")
    assert looks_like_key(text)


def test_a_typing_error_is_found_without_the_database(key):
    last = "A" if key.text[-10] != "A" else "B"
    assert not looks_like_key(key.text[:-10] + last + key.text[-9:])


@pytest.mark.parametrize(
    "change", [str.upper, lambda t: t + "\n", lambda t: " " + t, lambda t: t[:-1], lambda t: ""]
)
def test_other_texts_are_no_keys(key, change):
    assert not looks_like_key(change(key.text))


def test_hostile_text_is_no_key_and_no_error(key):
    assert not looks_like_key("rh_pro_" + "é" * 49)
    assert not key_matches("\ud83c", key_hash=key.key_hash)
