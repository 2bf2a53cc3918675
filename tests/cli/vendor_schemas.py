# SPDX-License-Identifier: MIT
"""Schemas of those who read configurations: GitHub, GitLab."""
import importlib
import unittest


def needed(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise unittest.SkipTest(f"{package} is not installed") from error


def check_schema(test, name, document):
    """Without the package that has the schemas the case is skipped here."""
    vendor = needed("check_jsonschema.builtin_schemas")
    jsonschema = needed("jsonschema")
    schema = vendor.get_builtin_schema(f"vendor.{name}")
    # YAML 1.1 takes the key `on` for true.
    document = {"on" if key is True else key: value for key, value in document.items()}
    errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(document)
    test.assertEqual([error.message for error in errors], [])
