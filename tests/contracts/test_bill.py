"""What a release is made of: the list of its parts, and their versions with hashes."""

import importlib.metadata
import json

from tools import pin, sbom


def test_the_bill_names_every_package_that_is_needed():
    found = sbom.bill(["plot"])
    parts = {part["name"]: part["version"] for part in found["components"]}
    assert {"numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "pillow"} <= set(parts)
    assert "pyarrow" not in parts
    assert parts["numpy"] == importlib.metadata.version("numpy")
    known = {part["bom-ref"] for part in [found["metadata"]["component"], *found["components"]]}
    assert {item["ref"] for item in found["dependencies"]} == known
    assert {ref for item in found["dependencies"] for ref in item["dependsOn"]} <= known
    assert "://" not in json.dumps(found)
    assert sbom.bill(["plot"]) == found


def test_pins_have_versions_and_hashes_and_no_addresses():
    def item(name, digit):
        archive = {"url": "file:///somewhere", "archive_info": {"hashes": {"sha256": digit * 64}}}
        return {"metadata": {"name": name, "version": "1.2"}, "download_info": archive}

    lines = pin.pinned({"install": [item("b", "0"), item("prismap", "1"), item("A", "2")]})
    assert lines == [f"A==1.2 --hash=sha256:{'2' * 64}", f"b==1.2 --hash=sha256:{'0' * 64}"]
