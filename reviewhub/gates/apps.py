from django.apps import AppConfig


class GatesConfig(AppConfig):
    name = "reviewhub.gates"
    label = "gates"
