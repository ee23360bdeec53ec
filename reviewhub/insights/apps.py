from django.apps import AppConfig


class InsightsConfig(AppConfig):
    name = "reviewhub.insights"
    label = "insights"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from reviewhub.insights.joined import lend

        connection_created.connect(lend, dispatch_uid="insights.joined")
