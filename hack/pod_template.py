"""Write what Kubernetes says of a PodTemplateSpec as the schema that our CRDs embed.

kubectl get --raw /openapi/v3/api/v1 >openapi.json
python hack/pod_template.py <openapi.json >operator/plimsoll/api/templates/pod_template.json

Take an API server of the version that devcluster/plimsoll_devcluster/programs/versions.py names.
Left out is what a CRD has no room or no word for: descriptions, and the values of enumerations, to
which newer versions add; and what no template can say, which stays unread.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

ROOT = "io.k8s.api.core.v1.PodTemplateSpec"
KEPT = (
    "type",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
# Amounts as Kubernetes takes them in pods, for which those below 0 are wrong; by exponents of ten
# digits its API server is kept busy for minutes. `.` and `Gi` are 0.
QUANTITY = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]*)?([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,4})?$"
SCALARS: dict[str, Schema] = {
    "Quantity": {"x-kubernetes-int-or-string": True, "minLength": 1, "pattern": QUANTITY},
    "IntOrString": {"x-kubernetes-int-or-string": True},
}
# The API server sets the rest of the metadata, or Plimsoll does; nobody starts a pod with
# ephemeral containers.
FIELDS = {"ObjectMeta": {"annotations", "finalizers", "labels"}}
NOT_IN_TEMPLATES = {"PodSpec": {"ephemeralContainers"}}


def embedded(documented: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas that a PodTemplateSpec consists of, by their short names."""
    found: dict[str, Schema] = {}
    missing = {ROOT}
    while missing:
        path = missing.pop()
        name = short(path)
        found[name] = SCALARS.get(name) or object_schema(name, documented[path])
        missing |= {each for each in references(documented[path], name) if short(each) not in found}
    return dict(sorted(found.items()))


def short(path: str) -> str:
    """The last part of a type's name."""
    return path.rpartition(".")[2]


def references(schema: Schema, name: str) -> Iterable[str]:
    """The types that fields of a type are of."""
    for field in fields(name, schema).values():
        inner = [field, field.get("items", {}), field.get("additionalProperties", {})]
        yield from (path for path in map(referred, inner) if path)


def referred(schema: Schema) -> str:
    """The type that a schema is; beside its default it stands in an `allOf` of one."""
    (inner,) = schema.get("allOf", [schema])
    return inner.get("$ref", "").rpartition("/")[2]


def fields(name: str, schema: Schema) -> dict[str, Schema]:
    """The fields of a type that templates can have."""
    named = schema.get("properties", {})
    kept = FIELDS.get(name, named.keys()) - NOT_IN_TEMPLATES.get(name, set())
    return {field: inner for field, inner in sorted(named.items()) if field in kept}


def object_schema(name: str, schema: Schema) -> Schema:
    """A type, in the words of a CRD."""
    found = {key: schema[key] for key in KEPT if key in schema}
    inner = fields(name, schema)
    if inner:
        found["properties"] = {field: field_schema(each) for field, each in inner.items()}
    return found


def field_schema(schema: Schema) -> Schema:
    """A field, an item of a list or a value of a map."""
    path = referred(schema)
    if path:
        return {"$ref": short(path)}
    found = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("default"):
        found["default"] = schema["default"]
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = field_schema(schema[key])
    return found


def main() -> None:
    """Read the document from standard input, write the schemas to standard output."""
    documented = json.load(sys.stdin)["components"]["schemas"]
    json.dump(embedded(documented), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
