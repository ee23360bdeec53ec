from django.apps import AppConfig


class StandingConfig(AppConfig):
    name = "reviewhub.standing"
    label = "standing"
