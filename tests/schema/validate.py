#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks one JSON document on stdin against a JSON Schema: validate.py SCHEMA < DOCUMENT

Knows the part of draft 2020-12 that the schemas beside it use, so that tests need no package. A
keyword it does not know is refused: a schema must not promise what nobody checks. Stricter than
the draft in one point: an integer is written without a fraction.

Exit code 0: valid; 1: not valid, or not one JSON document; 2: wrong usage or a bad schema.
"""
import functools
import json
import pathlib
import re
import sys

ANNOTATIONS = {"$schema", "$id", "$defs", "$comment", "title", "description"}

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class SchemaError(Exception):
    """The schema itself cannot be used."""


def read_json(text):
    """One JSON document; refuses NaN, Infinity and a name that stands twice in an object."""
    def constant(name):
        raise ValueError(f"{name} is no JSON number")

    def members(pairs):
        result = dict(pairs)
        if len(result) != len(pairs):
            names = [name for name, _ in pairs]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"names stand twice in an object: {', '.join(twice)}")
        return result

    return json.loads(text, parse_constant=constant, object_pairs_hook=members)


def shown(value):
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else text[:57] + "..."


def equal(left, right):
    """Equality of JSON: true is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


class Validator:
    """A schema file and those it refers to."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.files = {}

    def errors(self, document):
        """Lines "where: what is wrong"; none if the document is valid."""
        return self.check(document, self.load(self.path), "$", self.path)

    def load(self, path):
        if path not in self.files:
            try:
                self.files[path] = read_json(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise SchemaError(f"{path}: {error}") from error
        return self.files[path]

    def resolve(self, reference, base):
        """The schema that "other.schema.json#/$defs/name" or "#/$defs/name" names."""
        name, _, pointer = reference.partition("#")
        path = (base.parent / name).resolve() if name else base
        schema = self.load(path)
        for step in pointer.split("/")[1:]:
            if not isinstance(schema, dict) or step not in schema:
                raise SchemaError(f"{base}: {reference} leads nowhere")
            schema = schema[step]
        return schema, path

    def check(self, value, schema, where, base):
        if isinstance(schema, bool):
            return [] if schema else [f"{where}: must not be there"]
        errors = []
        for keyword, wanted in schema.items():
            if keyword in ANNOTATIONS or keyword in ("then", "else"):
                continue
            rule = getattr(self, "check_" + keyword.lstrip("$"), None)
            if rule is None:
                raise SchemaError(f"{base}: keyword {keyword} is not known here")
            errors += rule(value, wanted, where, base, schema)
        return errors

    def check_ref(self, value, wanted, where, base, _):
        schema, path = self.resolve(wanted, base)
        return self.check(value, schema, where, path)

    def check_type(self, value, wanted, where, base, _):
        names = wanted if isinstance(wanted, list) else [wanted]
        for name in names:
            if name not in TYPES:
                raise SchemaError(f"{base}: type {name} is not known")
        if any(TYPES[name](value) for name in names):
            return []
        return [f"{where}: {shown(value)} is not of type {' or '.join(names)}"]

    def check_required(self, value, wanted, where, _base, _):
        if not isinstance(value, dict):
            return []
        return [f"{where}: {name} is missing" for name in wanted if name not in value]

    def check_properties(self, value, wanted, where, base, _):
        errors = []
        if isinstance(value, dict):
            for name, schema in wanted.items():
                if name in value:
                    errors += self.check(value[name], schema, f"{where}.{name}", base)
        return errors

    def check_additionalProperties(self, value, wanted, where, base, schema):
        errors = []
        if isinstance(value, dict):
            for name in value:
                if name not in schema.get("properties", {}):
                    errors += self.check(value[name], wanted, f"{where}.{name}", base)
        return errors

    def check_items(self, value, wanted, where, base, _):
        errors = []
        if isinstance(value, list):
            for index, item in enumerate(value):
                errors += self.check(item, wanted, f"{where}[{index}]", base)
        return errors

    def check_enum(self, value, wanted, where, _base, _):
        if any(equal(value, choice) for choice in wanted):
            return []
        return [f"{where}: {shown(value)} is none of {', '.join(map(shown, wanted))}"]

    def check_const(self, value, wanted, where, _base, _):
        return [] if equal(value, wanted) else [f"{where}: {shown(value)} is not {shown(wanted)}"]

    def check_pattern(self, value, wanted, where, _base, _):
        if not isinstance(value, str) or re.search(wanted, value):
            return []
        return [f"{where}: {shown(value)} does not match {wanted}"]

    def check_minLength(self, value, wanted, where, _base, _):
        if not isinstance(value, str) or len(value) >= wanted:
            return []
        return [f"{where}: {shown(value)} is shorter than {wanted}"]

    def check_minimum(self, value, wanted, where, _base, _):
        if not TYPES["number"](value) or value >= wanted:
            return []
        return [f"{where}: {shown(value)} is less than {wanted}"]

    def check_maximum(self, value, wanted, where, _base, _):
        if not TYPES["number"](value) or value <= wanted:
            return []
        return [f"{where}: {shown(value)} is more than {wanted}"]

    def check_minItems(self, value, wanted, where, _base, _):
        if not isinstance(value, list) or len(value) >= wanted:
            return []
        return [f"{where}: has fewer than {wanted} items"]

    def check_allOf(self, value, wanted, where, base, _):
        return [error for schema in wanted for error in self.check(value, schema, where, base)]

    def check_anyOf(self, value, wanted, where, base, _):
        branches = [self.check(value, schema, where, base) for schema in wanted]
        if not all(branches):
            return []
        # The branch with the fewest complaints is the one that was most likely meant; one that
        # complains about the whole value was not.
        def distance(errors):
            return (any(error.startswith(f"{where}: ") for error in errors), len(errors))
        return min(branches, key=distance)

    def check_if(self, value, wanted, where, base, schema):
        branch = "else" if self.check(value, wanted, where, base) else "then"
        return self.check(value, schema.get(branch, True), where, base)


@functools.lru_cache(maxsize=None)
def validator_of(path):
    """One for each schema, which is read once."""
    return Validator(path)


def check_text(text, schema):
    """The document of the text, and the lines of Validator.errors() for it."""
    try:
        document = read_json(text)
    except ValueError as error:
        return None, [f"not one JSON document: {error}"]
    return document, validator_of(str(schema)).errors(document)


def main(arguments):
    if len(arguments) != 1:
        print("usage: validate.py SCHEMA < DOCUMENT", file=sys.stderr)
        return 2
    try:
        _, errors = check_text(sys.stdin.buffer.read().decode("utf-8"), arguments[0])
    except UnicodeDecodeError as error:
        errors = [f"not UTF-8: {error}"]
    except SchemaError as error:
        print(f"bad schema: {error}", file=sys.stderr)
        return 2
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
