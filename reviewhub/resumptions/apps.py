from django.apps import AppConfig


class ResumptionsConfig(AppConfig):
    name = "reviewhub.resumptions"
    label = "resumptions"
