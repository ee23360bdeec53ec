from django.apps import AppConfig


class PlansConfig(AppConfig):
    name = "reviewhub.plans"
    label = "plans"
