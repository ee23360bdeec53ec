from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    name = "reviewhub.policies"
    label = "policies"
