from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "reviewhub.web"
    label = "web"
