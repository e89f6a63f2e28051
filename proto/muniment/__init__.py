"""The contract of Muniment, as generated modules. The `.proto` files beside them are the source."""
