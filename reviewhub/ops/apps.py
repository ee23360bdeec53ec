from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "reviewhub.ops"
    label = "ops"

    def ready(self) -> None:
        # Makes the app that `shared_task` and `.delay()` use the one with our broker, in every process.
        from reviewhub.celery import SWEEPS
        from reviewhub.ops.quiet import hush

        hush(SWEEPS)
