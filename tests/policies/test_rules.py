"""Policy, as tables: alice writes rules, mallory's agent tries to get around them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.policies.rules import (
    Call,
    Policy,
    Requirement,
    Rule,
    effective_effect,
    evaluate,
    everything_else,
    explain,
)


def rule(name="r", tool="*", action="allow", **fields) -> Rule:
    return Rule(name=name, tool=tool, action=action, **fields)


def policy(*rules: Rule) -> Policy:
    return Policy(rules=rules)


REFUND = Call(
    tool="payments.refund_order",
    registered=True,
    known=True,
    effect="once",
    agent="support",
    agent_team="Support",
    environment="production",
)
READ = replace(REFUND, tool="orders.get", effect="read")
REFUNDS = rule("Refunds", "payments.refund_*", "require", team="Finance", approvals=2, deadline_seconds=900)
READS = rule("Reads", "*.get", "allow")
NO_DELETES = rule("No deletes", "*delete*", "deny")
HOUSE = policy(REFUNDS, READS, NO_DELETES)

TABLE = [
    # call, action, rule, position
    (REFUND, "require", "Refunds", 1),
    (READ, "allow", "Reads", 2),
    (replace(REFUND, tool="files.delete"), "deny", "No deletes", 3),
    (replace(REFUND, tool="mail.send"), "require", None, None),
    # Unknown tools: never let run, still denied.
    (replace(READ, registered=False), "require", None, None),
    (replace(READ, effect=None), "require", None, None),
    (replace(READ, effect="harmless"), "require", None, None),
    (replace(REFUND, tool="files.delete", registered=False), "deny", "No deletes", 3),
    # Other spellings: never let run, still held and denied.
    (replace(READ, tool="ORDERS.GET"), "require", None, None),
    (replace(READ, tool="orders.get "), "require", None, None),
    (replace(READ, tool="orders.get\n"), "require", None, None),
    (replace(READ, tool="orders\u200b.get"), "require", None, None),
    (replace(READ, tool="оrders.get"), "require", None, None),
    (replace(REFUND, tool="Payments.Refund_Order"), "require", "Refunds", 1),
    (replace(REFUND, tool="payments.re\ufb01nd_x"), "require", None, None),
    (replace(REFUND, tool="files.d\u0435lete"), "deny", "No deletes", 3),
    (replace(REFUND, tool="FILES.DELETE\u00a0"), "deny", "No deletes", 3),
    # What the agent says holds, and never loosens.
    (replace(READ, failed_checks=("Amount is right",)), "require", "Reads", 2),
    (replace(READ, schema_problem="steps"), "require", "Reads", 2),
]


@pytest.mark.parametrize(("call", "action", "name", "position"), TABLE)
def test_the_first_rule_that_matches_answers(call, action, name, position):
    answer = evaluate(HOUSE, call)
    assert (answer.action, answer.rule, answer.position) == (action, name, position)
    assert (answer.requirement is not None) == (action == "require")
    assert answer.text.endswith(".")


def test_no_policy_means_one_approval_of_the_agents_team():
    answer = evaluate(policy(), replace(REFUND, tool="exfiltrate_data", registered=False, effect=None))
    assert answer.requirement == Requirement.of_own_team("Support")
    assert answer.text == (
        "1 approval from Support: no rule matches; the tool is not registered (its agent has to register it with"
        " PUT /tools/…)."
    )


def test_the_requirement_is_the_rules():
    answer = evaluate(HOUSE, REFUND)
    assert answer.requirement == Requirement(team="Finance", approvals=2, deadline_seconds=900)
    assert answer.text == "2 approvals from Finance."


def test_a_rule_without_a_team_asks_the_agents_team():
    answer = evaluate(policy(rule(action="require")), REFUND)
    assert answer.requirement is not None
    assert answer.requirement.team == "Support"


@pytest.mark.parametrize("action", ["allow", "observe"])
@pytest.mark.parametrize(
    ("tool", "call", "runs"),
    [
        ("orders.get", READ, True),
        ("orders.*", READ, True),
        ("*", READ, True),
        ("Orders.get", READ, False),
        ("*", replace(READ, tool="suche"), True),
        ("*", replace(READ, tool="検索"), False),
        ("検索", replace(READ, tool="検索"), True),
        ("оrders.get", replace(READ, tool="оrders.get"), False),
        ("*", replace(READ, registered=False), False),
    ],
)
def test_only_exact_names_of_known_tools_run_unasked(action, tool, call, runs):
    assert (evaluate(policy(rule("r", tool, action)), call).action == action) is runs


@pytest.mark.parametrize(
    ("fields", "call", "matches"),
    [
        ({"agent": "support"}, REFUND, True),
        ({"agent": "Support"}, REFUND, False),
        ({"agent": "other"}, REFUND, False),
        ({"environment": "production"}, REFUND, True),
        ({"environment": "staging"}, REFUND, False),
        ({"agent": "support", "environment": "staging"}, REFUND, False),
    ],
)
def test_a_rule_may_be_for_one_agent_and_environment(fields, call, matches):
    assert (evaluate(policy(rule(**fields)), call).action == "allow") is matches


@pytest.mark.parametrize("fields", [{"agent": "SUPPORT"}, {"environment": "Production"}])
def test_a_denial_ignores_the_case_of_agent_and_environment(fields):
    assert evaluate(policy(rule(action="deny", **fields)), REFUND).action == "deny"


SILENT_YES = rule("Slow", "*", "require", deadline_seconds=60, on_timeout="allow")


@pytest.mark.parametrize(
    ("call", "on_timeout"),
    [
        (REFUND, "allow"),
        (replace(REFUND, registered=False), "deny"),
        (replace(REFUND, failed_checks=("x",)), "deny"),
        (replace(REFUND, schema_problem="x"), "deny"),
        (replace(REFUND, tool="payments.refund_оrder"), "deny"),
    ],
)
def test_silence_never_lets_a_held_call_run(call, on_timeout):
    answer = evaluate(policy(SILENT_YES), call)
    assert answer.requirement is not None
    assert answer.requirement.on_timeout == on_timeout


@pytest.mark.parametrize(
    ("deadline", "on_timeout", "wish", "becomes"),
    [
        (900, "deny", 60, 60),
        (900, "deny", 9000, 900),
        (None, "deny", 60, 60),
        (900, "deny", None, 900),
        (900, "deny", 0, 1),
        (900, "allow", 60, 900),
    ],
)
def test_an_agents_wish_only_shortens_the_time(deadline, on_timeout, wish, becomes):
    held = rule(action="require", deadline_seconds=deadline, on_timeout=on_timeout)
    answer = evaluate(policy(held), replace(REFUND, wished_deadline_seconds=wish))
    assert answer.requirement is not None
    assert answer.requirement.deadline_seconds == becomes


@pytest.mark.parametrize(
    ("allowed", "wish", "becomes"),
    [
        (("approve", "edit", "reject", "respond"), ("approve", "reject"), ("approve", "reject")),
        (("approve", "reject"), ("approve", "edit", "respond"), ("approve",)),
        (("reject",), ("approve",), ("reject",)),
        (("approve",), (), ("reject",)),
        (("approve",), ("Approve ", "yes"), ("reject",)),
    ],
)
def test_an_agents_wish_only_narrows_the_decisions(allowed, wish, becomes):
    held = rule(action="require", allowed_decisions=allowed)
    answer = evaluate(policy(held), replace(REFUND, wished_decisions=wish))
    assert answer.requirement is not None
    assert answer.requirement.allowed_decisions == becomes


@pytest.mark.parametrize(
    ("registered", "claimed", "becomes"),
    [
        ("read", None, "read"),
        ("read", "once", "once"),
        ("once", "read", "once"),
        ("idempotent", "read", "idempotent"),
        (None, "read", "once"),
        ("read", "harmless", "once"),
    ],
)
def test_a_claim_only_strengthens_the_effect(registered, claimed, becomes):
    assert effective_effect(registered, claimed) == becomes


def test_the_explanation_says_what_each_rule_said():
    steps = explain(HOUSE, replace(READ, registered=False)).steps
    assert [(step.position, step.matched, step.why) for step in steps] == [
        (1, False, "the tool does not read like payments.refund_*"),
        (2, False, "would match, but the tool is not registered, so nothing lets it run"),
        (3, False, "the tool does not read like *delete*"),
    ]


def test_the_explanation_says_which_rule_answered():
    explanation = explain(HOUSE, READ)
    assert [step.matched for step in explanation.steps] == [False, True, False]
    assert [step.answers for step in explanation.steps] == [False, True, False]
    assert explanation.answer == evaluate(HOUSE, READ)


def test_a_policy_that_cannot_be_read_still_asks():
    answer = everything_else(READ, because="the policy could not be read")
    assert answer.action == "require"
    assert answer.text == "1 approval from Support: the policy could not be read."


names = st.text(alphabet="abAB.*?_ \u0430\u200b", min_size=1, max_size=6)
rules = st.builds(
    lambda tool, action: Rule.model_construct(name="r", tool=tool, action=action),
    names,
    st.sampled_from(["allow", "observe", "require", "deny"]),
)
calls = st.builds(
    Call,
    tool=names,
    registered=st.booleans(),
    effect=st.sampled_from(["read", "idempotent", "once", None, "x"]),
    agent=st.just("a"),
    agent_team=st.just("T"),
    environment=st.just("e"),
    failed_checks=st.sampled_from([(), ("c",)]),
)


@given(st.lists(rules, max_size=5), calls)
def test_nothing_but_a_rule_in_words_lets_a_call_run(listed, call):
    answer = evaluate(Policy.model_construct(rules=tuple(listed)), call)
    if answer.action in ("allow", "observe"):
        assert call.registered
        assert call.effect in ("read", "idempotent", "once")
        assert not call.failed_checks
        assert answer.position is not None
        assert listed[answer.position - 1].action == answer.action
