"""What an agent, or the owner of a tool, needs to work with ReviewHub."""

from .receipts import BadReceipt, Receipt, verify_receipt

__version__ = "0.1.0"

__all__ = ["BadReceipt", "Receipt", "__version__", "verify_receipt"]
