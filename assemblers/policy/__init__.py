"""The typed assembly policy and its checks."""
