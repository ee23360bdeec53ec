from django.apps import AppConfig


class CheckpointsConfig(AppConfig):
    name = "reviewhub.checkpoints"
    label = "checkpoints"

    def ready(self) -> None:
        """Refuses settings of blob stores that cannot be meant; blobs of runs that end may go there."""
        from reviewhub.audit.signals import event_recorded
        from reviewhub.checkpoints.blobs.nudge import nudge
        from reviewhub.checkpoints.blobs.stores import check_settings

        check_settings()
        event_recorded.connect(nudge, dispatch_uid="checkpoints.blobs")
