from importlib import import_module

from django.apps import AppConfig, apps
from django.core import checks
from django.db.models.signals import post_migrate, pre_migrate
from django.utils.module_loading import module_has_submodule


class AuditConfig(AppConfig):
    name = "reviewhub.audit"
    label = "audit"

    def ready(self) -> None:
        """Registers the audit kinds of every app of ours (its `kinds.py`), and keeps the guards in force."""
        from reviewhub.audit.checks import append_only_is_guarded, role_owns_nothing
        from reviewhub.audit.roles import grant_after_migrate
        from reviewhub.audit.triggers import create_after_migrate, drop_before_migrate

        for config in apps.get_app_configs():
            ours = config.name.startswith("reviewhub.") and config.module is not None
            if ours and module_has_submodule(config.module, "kinds"):
                import_module(f"{config.name}.kinds")
        pre_migrate.connect(drop_before_migrate, sender=self, dispatch_uid="audit.triggers")
        # Once per `migrate`, when the tables of all apps are there.
        post_migrate.connect(create_after_migrate, sender=self, dispatch_uid="audit.triggers")
        post_migrate.connect(grant_after_migrate, sender=self, dispatch_uid="audit.roles")
        checks.register(append_only_is_guarded, checks.Tags.database)
        checks.register(role_owns_nothing, checks.Tags.database, deploy=True)
