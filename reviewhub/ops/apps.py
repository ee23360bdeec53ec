from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "reviewhub.ops"
    label = "ops"
