"""JSON Schema through jsonschema-rs, wrapped here and nowhere else: soundness of schemas, and containment between them."""
