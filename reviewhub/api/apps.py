from importlib import import_module

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "reviewhub.api"
    label = "api"

    def ready(self) -> None:
        """The schema's extensions register themselves when they are imported."""
        import_module("reviewhub.api.openapi")
