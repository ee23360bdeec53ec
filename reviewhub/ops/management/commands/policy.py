"""`manage.py policy`: a policy kept as a file, checked, compared and put in force."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sized
from difflib import unified_diff
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewhub.accounts.models import Member, Workspace
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.core.errors import Invalid, ReviewHubError
from reviewhub.ops.alone import public_address
from reviewhub.policies.as_file import File, policy_file
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.file_state import policy_path
from reviewhub.policies.newly_known import newly_known
from reviewhub.policies.publish import checked, publish
from reviewhub.policies.queries import current, version
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Policy
from reviewhub.policies.schema import ADDRESS, schema_text


class Command(BaseCommand):
    """Errors go to standard error, each with file, line, rule and field, and end it with 1; so does a difference."""

    help = "A policy as a YAML file: check it, compare it (diff), put it in force (apply), write it (export, schema)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, with which file, where."""
        parser.add_argument("verb", choices=["check", "diff", "apply", "export", "schema"])
        parser.add_argument(
            "file", nargs="?", help="the file, - for standard input; else that of POLICY_FILE"
        )
        parser.add_argument("--workspace", metavar="SLUG", help="needed where there are several")
        parser.add_argument("--reason", default="", help="apply: what changes and why, for the record")
        parser.add_argument(
            "--as",
            dest="email",
            metavar="EMAIL",
            help="apply: in the name of this member, who has to be allowed to; without it the record names the server",
        )
        parser.add_argument("--base", type=int, metavar="N", help="apply: only if version N is in force")
        parser.add_argument("--version-number", type=int, metavar="N", help="export: an older version")

    def handle(self, *args: Any, **options: Any) -> None:
        """Does one of the verbs."""
        if options["verb"] == "schema":
            self.stdout.write(schema_text(), ending="")
            return
        workspace = _workspace(options["workspace"])
        if options["verb"] == "export":
            number = options["version_number"]
            found = version(workspace.pk, number) if number else current(workspace.pk)
            self.stdout.write(_exported(parse_policy(found.rules) if found else Policy()), ending="")
            return
        path = options["file"] or policy_path(workspace)
        if path is None:
            raise CommandError("Say which file, or set POLICY_FILE.")
        file = self._file(str(path), workspace)
        getattr(self, f"_{options['verb']}")(file, workspace, options)

    def _file(self, path: str, workspace: Workspace) -> File:
        try:
            text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: {error}") from error
        try:
            file = File(text, lambda written: checked(written, workspace))
            try:
                checked(file.text, workspace)
            except Invalid as error:
                raise file.located(error) from error
        except Invalid as error:
            for one in error.errors:
                self.stderr.write(f"{path}:{one.get('line', 1)}: {one.get('place', '')}{one['message']}")
            raise CommandError(f"{path} cannot be put in force.") from error
        return file

    def _check(self, file: File, workspace: Workspace, options: dict[str, Any]) -> None:
        for caution in all_cautions(file.policy, workspace.pk):
            self.stdout.write(f"warning: {caution.where}: {caution.message}")
        for one in newly_known(file.policy, workspace.pk):
            self.stdout.write(f"frees a tool: {one.tool} of {one.agent} {one.says}")
        counts = [_count(len(lines), word) for word, lines in _layers(file.policy) if lines or word == "rule"]
        self.stdout.write(f"{', '.join(counts)}, nothing wrong")

    def _diff(self, file: File, workspace: Workspace, options: dict[str, Any]) -> None:
        latest = current(workspace.pk)
        before = _exported(parse_policy(latest.rules) if latest else Policy())
        lines = unified_diff(
            before.splitlines(), _exported(file.policy).splitlines(),
            f"v{latest.number if latest else 0}", "file", lineterm="",
        )  # fmt: skip
        if found := list(lines):
            self.stdout.write("\n".join(found))
            sys.exit(1)

    def _apply(self, file: File, workspace: Workspace, options: dict[str, Any]) -> None:
        latest = current(workspace.pk)
        number = latest.number if latest else 0
        if latest is not None and policy_text(parse_policy(latest.rules)) == policy_text(file.policy):
            self.stdout.write(f"v{number} says the same; nothing to do")
            return
        base = number if options["base"] is None else options["base"]
        try:
            made = publish(
                workspace=workspace,
                rules_text=file.text,
                note=options["reason"],
                base=base,
                actor=_actor(workspace, options["email"]),
            )
        except Invalid as error:
            is_note = bool(error.errors) and error.errors[0]["path"] == "/note"
            raise CommandError("Say why with --reason." if is_note else error.message) from error
        except ReviewHubError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"v{made.number} is in force")


def _layers(policy: Policy) -> tuple[tuple[str, Sized], ...]:
    return (
        ("rule", policy.rules), ("guardrail", policy.guardrails), ("limit", policy.limits),
        ("limit of waiting requests", policy.waiting),
    )  # fmt: skip


def _count(many: int, word: str) -> str:
    return f"{many} {word.replace('limit', 'limits', 1) if many != 1 and ' ' in word else word + 's' * (many != 1)}"


def _exported(policy: Policy) -> str:
    return policy_file(policy, schema=public_address() + ADDRESS)


def _workspace(slug: str | None) -> Workspace:
    found = Workspace.objects.filter(slug=slug) if slug else Workspace.objects.all()
    if len(found) != 1:
        raise CommandError(f"There is no workspace {slug!r}." if slug else "Say which --workspace.")
    return found[0]


def _actor(workspace: Workspace, email: str | None) -> Actor:
    if email is None:
        return SYSTEM
    member = (
        Member.objects.select_related("person")
        .filter(workspace=workspace, person__email=email.strip().lower(), is_active=True)
        .first()
    )
    if member is None:
        raise CommandError(f"{email} is no member of {workspace.slug}.")
    return Actor(kind="person", id=member.pk, name=member.person.name)
