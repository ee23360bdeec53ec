from django.apps import AppConfig


class HostingConfig(AppConfig):
    name = "reviewhub.hosting"
    label = "hosting"

    def ready(self) -> None:
        import os

        from django.conf import settings

        from reviewhub.hosting import checks

        checks.register()
        # Where the demo agents keep their shop; they know no settings.
        os.environ.setdefault("REVIEWHUB_DEMO", str(settings.VAR / "demo"))
