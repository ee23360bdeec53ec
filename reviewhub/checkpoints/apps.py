from django.apps import AppConfig


class CheckpointsConfig(AppConfig):
    name = "reviewhub.checkpoints"
    label = "checkpoints"

    def ready(self) -> None:
        """Refuses settings of blob stores that cannot be meant."""
        from reviewhub.checkpoints.blobs.stores import check_settings

        check_settings()
