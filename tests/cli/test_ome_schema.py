#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The OME-XML of outputs is valid against OME's schema. That is the file ome-2016-06.xsd, or a wheel of the Python package
ome-types, which IMGSTAT_OME_SCHEMA names, or that of an installed ome-types. usage: test_ome_schema.py IMGSTAT"""

import importlib.util
import os
import subprocess
import zipfile
from pathlib import Path

import harness
from harness import check, has, run, skip
from tiff_tree import ASCII, gray, read, write

SCHEMA = "ome-2016-06.xsd"
GIVEN = os.environ.get("IMGSTAT_OME_SCHEMA")
SPACE = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
# What the schema imports, as far as it uses it.
XML_SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.w3.org/XML/1998/namespace">
<xs:attribute name="lang" type="xs:language"/></xs:schema>"""
OME = f"""<?xml version="1.0" encoding="UTF-8"?>
<OME xmlns="{SPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" UUID="urn:uuid:00000000-0000-4000-8000-000000000000"
 xsi:schemaLocation="{SPACE} {SPACE}/ome.xsd" Creator="a test">
 <Project ID="Project:0" Name="p"><DatasetRef ID="Dataset:0"/></Project>
 <Dataset ID="Dataset:0"><ImageRef ID="Image:0"/><ImageRef ID="Image:1"/></Dataset>
 <Folder ID="Folder:0"><ImageRef ID="Image:1"/><ROIRef ID="ROI:0"/></Folder>
 <Instrument ID="Instrument:0"><Detector ID="Detector:0" Model="d"/><Objective ID="Objective:0" NominalMagnification="20"/></Instrument>
 <Image ID="Image:0" Name="first"><AcquisitionDate>2026-01-02T03:04:05</AcquisitionDate><InstrumentRef ID="Instrument:0"/>
  <ObjectiveSettings ID="Objective:0"/>
  <Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SignificantBits="12" SizeX="16" SizeY="8" SizeC="2" SizeZ="3"
   SizeT="1" BigEndian="false" PhysicalSizeX="0.1">
   <Channel ID="Channel:0:0" Name="DAPI" SamplesPerPixel="1" Color="65535"><DetectorSettings ID="Detector:0" Gain="2"/>
    <LightPath/></Channel>
   <Channel ID="Channel:0:1" Name="GFP" SamplesPerPixel="1" EmissionWavelength="509"/>
   <TiffData IFD="0" PlaneCount="6"/>
   {"".join(f'<Plane TheC="{i % 2}" TheZ="{i // 2}" TheT="0" DeltaT="{i}.5"/>' for i in range(6))}
  </Pixels><ROIRef ID="ROI:0"/><AnnotationRef ID="Annotation:0"/></Image>
 <Image ID="Image:1" Name="second">
  <Pixels ID="Pixels:1" DimensionOrder="XYZCT" Type="uint16" SizeX="16" SizeY="8" SizeC="1" SizeZ="2" SizeT="1">
   <Channel ID="Channel:1:0" SamplesPerPixel="1"/>
   <TiffData FirstZ="0" IFD="6" PlaneCount="1"/>
   <TiffData FirstZ="1" IFD="7" PlaneCount="1"><UUID FileName="in.ome.tif">urn:uuid:00000000-0000-4000-8000-000000000000</UUID></TiffData>
  </Pixels></Image>
 <StructuredAnnotations><CommentAnnotation ID="Annotation:0" Namespace="a"><Value>said</Value></CommentAnnotation></StructuredAnnotations>
 <ROI ID="ROI:0"><Union><Point ID="Shape:0" TheZ="2" TheC="1" X="1" Y="2"/><Rectangle ID="Shape:1" TheZ="0" X="1" Y="2" Width="3" Height="2"/>
  <Mask ID="Shape:2" X="0" Y="0" Width="2" Height="4"><BinData BigEndian="false" Length="4">AA==</BinData></Mask></Union></ROI>
</OME>"""


def schema(folder):
    """A copy of the schema that needs no network; None, said aloud: there is none."""
    module = None if GIVEN else importlib.util.find_spec("ome_types")
    path = Path(GIVEN) if GIVEN else Path(module.origin).parent / SCHEMA if module else None
    if path is None or not path.exists():
        skip("OME's schema: IMGSTAT_OME_SCHEMA does not name it, and ome-types is not installed")
        return None
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            text = wheel.read(f"ome_types/{SCHEMA}").decode()
    else:
        text = path.read_text(encoding="utf-8")
    (folder / "xml.xsd").write_text(XML_SCHEMA)
    (folder / SCHEMA).write_text(text.replace("http://www.w3.org/2001/xml.xsd", "xml.xsd"), encoding="utf-8")
    return folder / SCHEMA


def faults(folder, path):
    """What xmllint has against the description of a TIFF file; None: there is no OME-XML."""
    text = read(path).chain[0].fields.get(270, (b"",))[0].rstrip(b"\0")
    if b"OME" not in text:
        return None
    (folder / "ome.xml").write_bytes(text)
    done = subprocess.run(["xmllint", "--nonet", "--noout", "--schema", folder / SCHEMA, folder / "ome.xml"],
                          capture_output=True, check=False)
    return b"" if done.returncode == 0 else done.stderr or b"?"


def test_valid(program, folder):
    """Whatever is selected and whatever becomes of the samples."""
    if not has("xmllint") or not schema(folder):
        return
    name, out = folder / "in.ome.tif", folder / "out.ome.tif"
    for order, big in (("<", False), (">", True)):
        pages = [gray([[40 * p + 3 * x + y for x in range(16)] for y in range(8)], order=order) for p in range(8)]
        pages[0].fields[270] = (ASCII, OME.encode() + b"\0")
        name.write_bytes(write(pages, order, big))
        check(faults(folder, name) == b"", f"the input: {faults(folder, name)}")
        for words in ("normalize", "normalize --depth 8", "normalize --depth float", "equalize", "equalize --clahe --grid 2"):
            for selected in ("", "[0,2,4]", "[1]", "[0-3]", "[0,3]", "[6-7]", "[5,7]", "[4-6]", "[7]"):
                run(program, *words.split(), "--force", f"{name}{selected}", "-o", out)
                found = faults(folder, out)
                check(found == b"", f"{words} {selected}: {found}")
    run(program, "normalize", "--force", name, "-o", name)
    check(faults(folder, name) == b"", f"in place: {faults(folder, name)}")
    text = read(name).chain[0].fields[270][0]
    name.write_bytes(name.read_bytes().replace(text, text.replace(b"SizeZ", b"SizeQ")))
    check(faults(folder, name) not in (b"", None), "xmllint finds what is no attribute")


if __name__ == "__main__":
    harness.main(globals())
