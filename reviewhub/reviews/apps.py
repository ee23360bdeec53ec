from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviewhub.reviews"
    label = "reviews"

    def ready(self) -> None:
        """The record is searched by the words of calls, too."""
        from reviewhub.audit import called
        from reviewhub.reviews.called import CalledByWords

        called.tell(CalledByWords())
