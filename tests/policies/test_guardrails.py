"""Two layers: all guardrails apply, the strictest wins, and no rule and no guardrail loosens anything."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewhub.core.errors import Invalid
from reviewhub.policies.arguments import Arguments
from reviewhub.policies.model import Condition, Policy, Rule
from reviewhub.policies.reading import cautions, parse_policy
from reviewhub.policies.requirement import VERDICTS, Escalation, Requirement, Stage
from reviewhub.policies.rules import Answer, Call, evaluate, explain, possible, tighten

STRICTNESS = {"allow": 0, "observe": 0, "require": 1, "deny": 2}
ARGUMENTS = ("{}", '{"a":null}', '{"a":1}', '{"a":600}', '{"a":"x"}', '{"a":1E99}')


def call(tool: str = "refund", arguments: str = "{}", **fields) -> Call:
    given = {
        "tool": tool, "registered": True, "known": True, "effect": "once", "agent": "a", "agent_team": "Support",
        "environment": "production", "arguments": Arguments(arguments),
    }  # fmt: skip
    return Call(**(given | fields))


def rule(name: str, tool: str = "refund", action: str = "require", **fields) -> Rule:
    return Rule(name=name, tool=tool, action=action, **fields)


conditions = st.sampled_from(
    [(), (Condition(path="a", test="is_over", value=500),), (Condition(path="a", test="is_there"),)]
)
expressions = st.sampled_from([None, "args.a < 100", "environment == 'production'"])
asks = st.fixed_dictionaries(
    {
        "stages": st.lists(
            st.builds(Stage, team=st.sampled_from([None, "Finance", "Legal"]), approvals=st.integers(1, 2)),
            min_size=1,
            max_size=2,
        ).map(tuple),
        "escalation": st.sampled_from([(), (Escalation(after_seconds=1, team="Leads"),)]),
        "deny_threshold": st.integers(1, 3),
        "deadline_seconds": st.integers(2, 100),
        "locked_fields": st.sampled_from([(), ("a",)]),
        "sign_in_minutes": st.sampled_from([None, 5, 60]),
        "typed_confirmation": st.booleans(),
        "allowed_decisions": st.sampled_from([VERDICTS, ("approve", "reject"), ("reject", "edit")]),
        "four_eyes": st.booleans(),
    }
)
about = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["*", "refund", "re*", "mail.*", "REFUND"]),
        "environment": st.sampled_from([None, "production", "staging"]),
        "when": conditions,
        "expression": expressions,
    }
)


@st.composite
def some_rule(draw, actions=("allow", "observe", "require", "deny")):
    action = draw(st.sampled_from(actions))
    more = draw(asks) if action == "require" else {}
    if more and draw(st.booleans()):  # the short form: one team, or none named
        (first, *_) = more.pop("stages")
        more |= {"team": first.team, "approvals": first.approvals}
    if action == "require" and "allow" in actions:
        more["on_timeout"] = draw(st.sampled_from(["deny", "allow"]))
    return draw(about) | {"action": action} | more


def named(given: list[dict]) -> tuple[Rule, ...]:
    return tuple(Rule(name=f"r{at}", **fields) for at, fields in enumerate(given))


some_rules = st.lists(some_rule(), max_size=4).map(named)
some_guardrails = st.lists(some_rule(actions=("require", "deny")), max_size=3).map(named)
calls = st.builds(call, st.sampled_from(["refund", "mail.send", "Refund"]), st.sampled_from(ARGUMENTS))


def named_by(needed: Requirement) -> Counter[str]:
    """How many approvals are asked of each team that some rule named."""
    named: Counter[str] = Counter()
    for stage in needed.stages:
        if not stage.own:
            named[stage.team] += stage.approvals
    return named


def asked_of(needed: Requirement, team: str) -> int:
    return sum(stage.approvals for stage in needed.stages if stage.team == team)


def stand_ins(needed: Requirement) -> set[tuple[str, str | None]]:
    """Which team's approvals may be given by whom after an escalation."""
    return {(team, step.team) for step in needed.escalation for team in step.for_teams or needed.teams()}


def no_looser(before: Answer, after: Answer) -> bool:
    """Whether everything that `before` asked for is still asked for."""
    if STRICTNESS[after.action] != STRICTNESS[before.action]:
        return STRICTNESS[after.action] > STRICTNESS[before.action]
    old, new = before.requirement, after.requirement
    if old is None or new is None:
        return before.action == after.action
    return (
        new.approvals >= old.approvals
        and all(asked_of(new, team) >= many for team, many in named_by(old).items())
        and (
            before.is_least
            or all((team, to) in stand_ins(old) or not asked_of(old, team) for team, to in stand_ins(new))
        )
        and set(new.locked_fields) >= set(old.locked_fields)
        and (new.sign_in_minutes or 9999) <= (old.sign_in_minutes or 9999)
        and new.typed_confirmation >= old.typed_confirmation
        and (before.is_least or new.deny_threshold <= old.deny_threshold)
        and (new.four_eyes or not old.four_eyes)
        and (new.on_timeout == "deny" or old.on_timeout == "allow")
        and set(new.allowed_decisions) <= {*old.allowed_decisions, "reject"}
    )


@settings(max_examples=150, deadline=None)
@given(rules=some_rules, guardrails=some_guardrails, more=some_guardrails, asked=calls)
def test_adding_a_guardrail_never_frees_anything(rules, guardrails, more, asked):
    added = tuple(one.model_copy(update={"name": f"more {one.name}"}) for one in more)
    before = evaluate(Policy(guardrails=guardrails, rules=rules), asked)
    after = evaluate(Policy(guardrails=guardrails + added, rules=rules), asked)
    assert no_looser(before, after)


@settings(max_examples=100, deadline=None)
@given(rules=some_rules, guardrails=some_guardrails, asked=calls, data=st.data())
def test_the_order_of_guardrails_does_not_matter_for_what_is_asked(rules, guardrails, asked, data):
    shuffled = tuple(data.draw(st.permutations(guardrails)))
    first = evaluate(Policy(guardrails=guardrails, rules=rules), asked)
    second = evaluate(Policy(guardrails=shuffled, rules=rules), asked)
    assert no_looser(first, second) and no_looser(second, first)


@settings(max_examples=100, deadline=None)
@given(rules=some_rules, asked=calls, data=st.data())
def test_rules_with_the_same_places_answer_the_same_in_any_order_of_writing(rules, asked, data):
    placed = [
        json.loads(one.model_dump_json(exclude_unset=True)) | {"place": 10 * at + 10}
        for at, one in enumerate(rules)
    ]
    shuffled = data.draw(st.permutations(placed))
    read = [parse_policy(json.dumps({"rules": order})) for order in (placed, shuffled)]
    assert read[0] == read[1]
    assert evaluate(read[0], asked) == evaluate(read[1], asked) == evaluate(Policy(rules=rules), asked)


@settings(max_examples=100, deadline=None)
@given(rules=some_rules, guardrails=some_guardrails, asked=calls)
def test_explaining_says_the_same_and_names_the_rule(rules, guardrails, asked):
    policy = Policy(guardrails=guardrails, rules=rules)
    found = explain(policy, asked)
    assert found.answer == evaluate(policy, asked)
    assert len(found.steps) == len(rules) + len(guardrails)
    answering = [step for step in found.steps if step.answers]
    assert [step.rule for step in answering] == ([found.answer.rule] if found.answer.rule else [])
    assert all(step.matched is not False for step in answering)
    assert found.answer.action in {answer.action for answer in possible(policy, asked)} | {"require"}


def test_the_strictest_of_both_layers_wins():
    big = (Condition(path="a", test="is_over", value=500),)
    policy = Policy(
        guardrails=(
            rule("Big", when=big, team="Finance", approvals=2),
            rule("Eyes", "re*", four_eyes=True, deadline_seconds=60),
            rule("Never", "drop*", "deny"),
        ),
        rules=(rule("Free", action="allow"), rule("Slow", "*", approvals=3, team="Support")),
    )
    small, large = evaluate(policy, call(arguments='{"a":1}')), evaluate(policy, call(arguments='{"a":600}'))
    assert small.requirement is not None and large.requirement is not None
    assert (small.layer, small.rule, small.requirement.approvals) == ("guardrail", "Eyes", 1)
    assert (large.rule, large.requirement.team, large.requirement.approvals) == ("Big", "Finance", 2)
    assert large.requirement.four_eyes and large.requirement.deadline_seconds == 60
    assert evaluate(policy, call("DROP_all")).text == "Guardrail Never denies it."


SUPPORT_THEN_FINANCE = {"stages": [{"team": "Support", "approvals": 2}, {"team": "Finance"}]}
JOINED = [
    # why, what each guardrail and the rule ask, and what is asked then (the agent is of Support)
    ("different teams are both asked", [{"team": "Finance"}, {"team": "Legal", "approvals": 2}], {},
     "1 approval from Finance and 2 approvals from Legal"),
    ("the same team is asked for the most", [{"team": "Finance"}, {"team": "Finance", "approvals": 2}], {},
     "2 approvals from Finance"),
    ("the rule's team is asked beside", [{"team": "Finance"}], {"team": "Legal"},
     "1 approval from Finance and 1 approval from Legal"),
    ("who names no team is met by those who do", [{"team": "Finance"}], {}, "1 approval from Finance"),
    ("the agent's own team gives what they leave over", [{"team": "Finance"}], {"approvals": 3},
     "1 approval from Finance and 2 approvals from Support"),
    ("however many that are", [{"stages": [{"team": "Legal", "approvals": 20}, {"team": "Legal", "approvals": 20}]},
                               {"team": "Finance"}], {}, "1 approval from Finance, then 40 approvals from Legal"),
    ("nobody names a team", [{"approvals": 2}, {}], {}, "2 approvals from Support"),
    ("stages stay in order", [SUPPORT_THEN_FINANCE, {"team": "Finance", "approvals": 2}], {},
     "2 approvals from Support, then 2 approvals from Finance"),
    ("and others stand beside the first", [SUPPORT_THEN_FINANCE, {"team": "Legal"}], {},
     "2 approvals from Support and 1 approval from Legal, then 1 approval from Finance"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "guardrails", "below", "asked"), JOINED, ids=[row[0] for row in JOINED])
def test_what_several_ask_for_together(why, guardrails, below, asked):
    lines = [{"name": f"g{at}", "tool": "*", "action": "require"} | one for at, one in enumerate(guardrails)]
    rules = [{"name": "r", "tool": "*", "action": "require"} | below]
    answer = evaluate(parse_policy(json.dumps({"guardrails": lines, "rules": rules})), call())
    assert str(answer.requirement) == asked


def test_a_ladder_stands_in_for_those_only_who_let_it():
    leads = (Escalation(after_seconds=60, team="Leads"),)
    asks = (
        {"team": "Finance"},
        {"team": "Legal", "escalation": leads},
        {"team": "Finance", "escalation": leads},
    )
    for taken, stands_in_for in (((0, 1), ("Legal",)), ((0, 2), None), ((1, 2), ("Finance", "Legal"))):
        guardrails = tuple(rule(f"g{at}", **asks[at]) for at in taken)
        free = Policy(guardrails=guardrails, rules=(rule("Free", action="allow"),))
        needed = evaluate(free, call()).requirement
        assert needed is not None
        found = [tuple(sorted(step.for_teams)) for step in needed.escalation]
        assert found == ([stands_in_for] if stands_in_for else [])


OWN_TEAM = {
    "deny_threshold": 2,
    "deadline_seconds": 99,
    "escalation": (Escalation(after_seconds=60, managers=True),),
}
NOBODY_SAID_MORE = {
    "nothing below": Policy(guardrails=(rule("G", **OWN_TEAM),)),
    "no rule that matches": Policy(guardrails=(rule("G", **OWN_TEAM),), rules=(rule("R", "mail.*"),)),
    "a rule that lets run": Policy(guardrails=(rule("G", **OWN_TEAM),), rules=(rule("R", action="allow"),)),
    "one that cannot be decided": Policy(
        guardrails=(rule("G", **OWN_TEAM), rule("No", action="deny", expression="args.there")),
        rules=(rule("R", action="allow"),),
    ),
    "a rule that would let run": Policy(
        guardrails=(rule("G", **OWN_TEAM),), rules=(rule("R", action="allow", expression="args.there"),)
    ),
}


@pytest.mark.parametrize("policy", NOBODY_SAID_MORE.values(), ids=NOBODY_SAID_MORE)
def test_what_a_guardrail_says_of_the_agents_own_team_stands_where_nobody_else_worded_anything(policy):
    """The last line asks for an approval of that team, too, and knows neither ladders nor second rejections."""
    needed = evaluate(policy, call()).requirement
    assert needed is not None
    assert (str(needed), needed.deny_threshold, needed.deadline_seconds) == ("1 approval from Support", 2, 99)
    assert [step.to for step in needed.escalation] == ["the managers"]


def test_a_limit_without_a_team_takes_no_ladder_away():
    beyond = Rule(name="L", tool="*", action="require", approvals=2)
    lower = evaluate(Policy(rules=(rule("R", **OWN_TEAM),)), call())
    needed = tighten(lower, [beyond], call(), layer="limit", because="too much").requirement
    assert needed is not None and (needed.deny_threshold, len(needed.escalation), needed.approvals) == (
        2,
        1,
        2,
    )
    alone = tighten(
        evaluate(Policy(), call()), [beyond], call(), layer="limit", because="too much"
    ).requirement
    assert alone is not None and (alone.deny_threshold, alone.approvals) == (1, 2)


def test_a_guardrail_that_cannot_be_decided_holds():
    on_amount = {"when": (Condition(path="a", test="is_over", value=500),)}
    free = rule("Free", action="allow")
    for action in ("deny", "require"):
        policy = Policy(guardrails=(rule("G", action=action, **on_amount),), rules=(free,))
        assert evaluate(policy, call(arguments='{"a":1}')).action == "allow"
        answer = evaluate(policy, call(arguments="{}"))
        assert answer.action == "require" and "a is missing" in answer.text


def test_a_rule_that_cannot_be_decided_holds_whatever_comes_after_it():
    on_amount = {"when": (Condition(path="a", test="is_at_most", value=500),)}
    free = rule("Free", "*", "allow")
    for action in ("allow", "deny", "observe"):
        answer = evaluate(Policy(rules=(rule("First", action=action, **on_amount), free)), call())
        assert answer.action == "require" and "rule First cannot be decided: a is missing" in answer.text
    silent = rule("First", deadline_seconds=60, on_timeout="allow", team="Finance", **on_amount)
    answer = evaluate(Policy(rules=(silent, free)), call())
    assert answer.requirement is not None
    assert (answer.requirement.team, answer.requirement.on_timeout) == ("Finance", "deny")
    denied = evaluate(
        Policy(rules=(rule("First", action="allow", **on_amount), rule("No", "*", "deny"))), call()
    )
    assert denied.action == "deny"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"guardrails": [{"name": "G", "tool": "*", "action": "allow"}], "rules": []}, "denies or requires"),
        ({"guardrails": [{"name": "G", "tool": "*", "action": "require", "deadline_seconds": 9,
                          "on_timeout": "allow"}], "rules": []}, "nobody answers"),
        ({"rules": [{"name": "A", "tool": "*", "action": "deny", "place": 1},
                    {"name": "B", "tool": "*", "action": "allow", "place": 1}]}, "both at place 1"),
        ({"rules": [{"name": "A", "tool": "*", "action": "deny", "place": 1},
                    {"name": "B", "tool": "*", "action": "allow"}]}, "has no place"),
        ({"rules": [{"name": "A", "tool": "*", "action": "deny",
                     "when": [{"path": "a", "test": "is_over", "value": "5"}]}]}, "needs a number"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require", "approvals": 2, "stages": [{}]}]},
         "one stage alone"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require", "stages": [{"together": True}]}]},
         "none before it"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require", "remind_seconds": 9, "deadline_seconds": 9}]},
         "less than deadline"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require", "deadline_seconds": 9,
                     "escalation": [{"after_seconds": 9, "managers": True}]}]}, "before the deadline"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require",
                     "escalation": [{"after_seconds": 9, "team": "B"}, {"after_seconds": 9, "team": "C"}]}]},
         "step 2 of escalation has to come after"),
        ({"rules": [{"name": "A", "tool": "*", "action": "require", "escalation": [{"after_seconds": 9}]}]},
         "a team, or managers"),
        ({"rules": [{"name": "A", "tool": "*", "action": "allow", "sign_in_minutes": 5}]}, "belongs to the action"),
    ],
)  # fmt: skip
def test_what_is_no_policy(policy, said):
    with pytest.raises(Invalid, match=said):
        parse_policy(json.dumps(policy))


def test_a_number_that_would_be_read_as_another_is_refused():
    text = '{"rules":[{"name":"A","tool":"*","action":"deny","when":[{"path":"a","test":"is","value":%s}]}]}'
    with pytest.raises(Invalid, match="64 bits") as refused:
        parse_policy(text % "0.1000000000000000000001")
    assert refused.value.errors[0]["path"] == "/rules/0/when/0/value"
    parse_policy(text % "0.1")


def test_rules_that_hide_others_are_warned_of_also_with_conditions():
    small = (Condition(path="a", test="is_at_most", value=5),)
    for first, second in itertools.product((small, ()), repeat=2):
        policy = Policy(rules=(rule("One", when=first), rule("Two", action="allow", when=second)))
        hidden = [caution.code for caution in cautions(policy)] == ["hidden"]
        assert hidden == (first in ((), second)), (first, second)
    guarded = Policy(guardrails=(rule("G", "re*"),), rules=(rule("Free", action="allow"),))
    (caution,) = cautions(guarded)
    assert (caution.code, caution.where) == ("guarded", "Rule 1, Free")


def test_a_limit_takes_no_look_of_the_agents_own_team_away():
    """Nor four eyes, nor any of its approvals; the limit's team is asked beside."""
    lower = evaluate(Policy(rules=(rule("R", approvals=2, four_eyes=True, deadline_seconds=900),)), call())
    for deadline, until in ((None, 900), (60, 60)):
        beyond = Rule(name="L", tool="*", action="require", team="Finance", deadline_seconds=deadline)
        needed = tighten(lower, [beyond], call(), layer="limit", because="too much").requirement
        assert needed is not None and needed.four_eyes and needed.deadline_seconds == until
        assert sorted((stage.team, stage.approvals) for stage in needed.stages) == [
            ("Finance", 1), ("Support", 2)
        ]  # fmt: skip


def test_a_limit_says_until_when_where_nobody_else_does():
    free = evaluate(Policy(rules=(rule("R", action="allow"),)), call())
    for team in ("Finance", None):
        beyond = Rule(name="L", tool="*", action="require", team=team, deadline_seconds=60)
        needed = tighten(free, [beyond], call(), layer="limit", because="too much").requirement
        assert needed is not None and (needed.deadline_seconds, needed.approvals) == (60, 1)
