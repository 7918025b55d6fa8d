"""datamodel-code-generator: schemas into Python types, in one process, by the library.

python stubs_dmcg.py time SCHEMAS.json MODEL        prints the time it took as JSON
python stubs_dmcg.py write SCHEMAS.json MODEL OUT   writes a module each
SCHEMAS.json: schemas by name. MODEL: what `--output-model-type` takes.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

from datamodel_code_generator import DataModelType, InputFileType, generate
from datamodel_code_generator.format import PythonVersion

warnings.simplefilter("ignore")


def written(name: str, schema: str, model: str, file: Path) -> None:
    generate(
        schema,
        input_filename=f"{name}.json",
        input_file_type=InputFileType.JsonSchema,
        output=file,
        output_model_type=DataModelType(model),
        target_python_version=PythonVersion.PY_311,
        class_name="Root",
        disable_timestamp=True,
        formatters=[],
    )


def timed(schemas: dict[str, str], model: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        began, cpu = time.perf_counter(), time.process_time()
        for name, schema in schemas.items():
            written(name, schema, model, Path(folder, f"{name}.py"))
        return {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "tools": len(schemas)}


def main() -> None:
    mode, file, model = sys.argv[1:4]
    schemas = {name: json.dumps(schema) for name, schema in json.loads(Path(file).read_text()).items()}
    if mode == "time":
        print(json.dumps(timed(schemas, model)))
        return
    for name, schema in schemas.items():
        try:
            written(name, schema, model, Path(sys.argv[4], f"{name}.py"))
        except Exception as mishap:  # whatever it stumbles over is what is being looked for
            Path(sys.argv[4], f"{name}.error").write_text(f"{type(mishap).__name__}: {mishap}")


if __name__ == "__main__":
    main()
