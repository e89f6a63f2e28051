"""The core's flat namespace: everything public is named, once, and nothing else."""

import types

import assemblers


def test_all_is_sorted_and_names_what_is_there():
    assert assemblers.__all__ == sorted(
        assemblers.__all__, key=lambda name: (not name.isupper(), name.islower(), name)
    )
    assert all(hasattr(assemblers, name) for name in assemblers.__all__)


def test_nothing_public_is_left_out():
    public = {
        name
        for name, value in vars(assemblers).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public == set(assemblers.__all__)
