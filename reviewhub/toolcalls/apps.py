from django.apps import AppConfig


class ToolcallsConfig(AppConfig):
    name = "reviewhub.toolcalls"
    label = "toolcalls"
