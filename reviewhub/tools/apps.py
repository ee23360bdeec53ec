from django.apps import AppConfig


class ToolsConfig(AppConfig):
    name = "reviewhub.tools"
    label = "tools"
