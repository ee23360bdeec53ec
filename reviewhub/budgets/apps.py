from django.apps import AppConfig


class BudgetsConfig(AppConfig):
    name = "reviewhub.budgets"
    label = "budgets"
