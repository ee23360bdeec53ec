from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "reviewhub.accounts"
    label = "accounts"
