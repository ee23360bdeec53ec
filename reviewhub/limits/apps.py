from django.apps import AppConfig


class LimitsConfig(AppConfig):
    name = "reviewhub.limits"
    label = "limits"
