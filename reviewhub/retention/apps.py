from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "reviewhub.retention"
    label = "retention"
