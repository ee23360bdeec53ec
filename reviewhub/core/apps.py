from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "reviewhub.core"
    label = "core"

    def ready(self) -> None:
        from reviewhub.core import checks, faults

        checks.register()
        faults.arm_from_environment()
