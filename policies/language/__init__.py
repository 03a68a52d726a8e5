"""The policy file: read, checked, explained to its writer, and compiled. The only part that knows YAML and pydantic."""

from policies.language.load import Loaded, load_policy
from policies.language.problem import Problem
from policies.language.schema import json_schema

__all__ = ["Loaded", "Problem", "json_schema", "load_policy"]
