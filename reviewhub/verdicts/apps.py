from django.apps import AppConfig


class VerdictsConfig(AppConfig):
    name = "reviewhub.verdicts"
    label = "verdicts"
