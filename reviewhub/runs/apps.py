from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "reviewhub.runs"
    label = "runs"
