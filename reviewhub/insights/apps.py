from django.apps import AppConfig


class InsightsConfig(AppConfig):
    name = "reviewhub.insights"
    label = "insights"
