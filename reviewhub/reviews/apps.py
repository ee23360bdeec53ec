from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviewhub.reviews"
    label = "reviews"
