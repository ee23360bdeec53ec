from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "reviewhub.api"
    label = "api"
