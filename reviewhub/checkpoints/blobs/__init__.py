"""Blob stores: where large blobs go that no open branch needs. One file for each; `stores` opens what settings name."""
