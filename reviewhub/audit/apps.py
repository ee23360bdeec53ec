from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "reviewhub.audit"
    label = "audit"
