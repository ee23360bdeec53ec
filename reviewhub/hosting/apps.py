from django.apps import AppConfig


class HostingConfig(AppConfig):
    name = "reviewhub.hosting"
    label = "hosting"
