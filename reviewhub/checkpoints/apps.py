from django.apps import AppConfig


class CheckpointsConfig(AppConfig):
    name = "reviewhub.checkpoints"
    label = "checkpoints"
