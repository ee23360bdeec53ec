from django.apps import AppConfig


class DeliveriesConfig(AppConfig):
    name = "reviewhub.deliveries"
    label = "deliveries"
