from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "reviewhub.live"
    label = "live"
