"""Policies as written by people: read from YAML or protobuf, checked, named by their content, and looked up."""
