from importlib import import_module

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule


class AuditConfig(AppConfig):
    name = "reviewhub.audit"
    label = "audit"

    def ready(self) -> None:
        """Every app of ours registers its audit kinds in its `kinds.py`, if it has one."""
        for config in apps.get_app_configs():
            ours = config.name.startswith("reviewhub.") and config.module is not None
            if ours and module_has_submodule(config.module, "kinds"):
                import_module(f"{config.name}.kinds")
