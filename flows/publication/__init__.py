"""Tables for consumers: Delta tables, plain files, exports."""
