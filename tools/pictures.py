"""Copy the gallery's pictures that README and guide show into docs/images/, with few colours so that they stay small.

Run by `make pictures`, after the gallery.
"""

from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Where a picture goes, and which figure of which example it is.
PICTURES = {
    "digits": "plot_01_start_001",
    "honest": "plot_02_honest_001",
    "regression": "plot_03_regression_001",
    "new_rows": "plot_05_new_rows_001",
    "features": "plot_06_features_001",
    "embeddings": "plot_07_embeddings_001",
    "parameters": "plot_11_parameters_001",
}

for name, figure in PICTURES.items():
    picture = Image.open(DOCS / "gallery" / "images" / f"sphx_glr_{figure}.png").convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(DOCS / "images" / f"{name}.png", optimize=True)
