from django.apps import AppConfig


class HostingConfig(AppConfig):
    name = "reviewhub.hosting"
    label = "hosting"

    def ready(self) -> None:
        from reviewhub.hosting import checks

        checks.register()
