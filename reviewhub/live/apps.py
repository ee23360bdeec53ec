from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "reviewhub.live"
    label = "live"

    def ready(self) -> None:
        from reviewhub.audit.signals import event_recorded
        from reviewhub.live.notify import notify

        event_recorded.connect(notify, dispatch_uid="live.notify")
